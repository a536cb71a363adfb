package org.pgonce.test;

import java.util.List;
import java.util.Objects;
import org.assertj.core.api.AbstractAssert;
import org.pgonce.Channel;

/** The dead letters of a channel. */
public final class DeadLetterAssert extends AbstractAssert<DeadLetterAssert, List<Long>> {

  private final Channel<?> channel;
  private final List<Stored> rows;

  DeadLetterAssert(Channel<?> channel, List<Stored> rows) {
    super(rows.stream().map(Stored::id).toList(), DeadLetterAssert.class);
    this.channel = channel;
    this.rows = rows;
  }

  /** One of them has this text in its error, or as its reason ({@code REJECTED}, for example). */
  public DeadLetterAssert because(String text) {
    Objects.requireNonNull(text, "text");
    if (rows.stream()
        .noneMatch(
            row ->
                text.equals(row.dead())
                    || Objects.requireNonNullElse(row.error(), "").contains(text))) {
      throw failure(
          "channel %s should have a dead letter because of «%s», but has:%s",
          channel.name(), text, PgOnceAssert.lines(rows));
    }
    return this;
  }
}
