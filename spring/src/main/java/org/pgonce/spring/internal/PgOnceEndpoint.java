package org.pgonce.spring.internal;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.Status;
import org.pgonce.operations.ChannelStatus;
import org.pgonce.operations.DeadLetters.DeadLetter;
import org.pgonce.operations.Operations;
import org.pgonce.operations.Operations.Waiting;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;

/** {@code /actuator/pgonce}: reads, and changes nothing. */
@Endpoint(id = "pgonce")
public final class PgOnceEndpoint {

  private static final int SHOWN = 100;

  private final PgOnce pgonce;
  private final Operations operations;
  private final Channels channels;

  PgOnceEndpoint(PgOnce pgonce, Operations operations, Channels channels) {
    this.pgonce = pgonce;
    this.operations = operations;
    this.channels = channels;
  }

  /** What this process does, and how all installed channels stand. */
  @ReadOperation
  public Overview overview() {
    try {
      return new Overview(pgonce.status(), operations.channels(), null);
    } catch (PgOnceException e) {
      return new Overview(pgonce.status(), List.of(), e.getMessage());
    }
  }

  /**
   * What waits in a channel and what has died, the oldest 100 of each, without payloads.
   *
   * @return null if no bean is such a channel
   */
  @ReadOperation
  public @Nullable ChannelContents channel(@Selector String channel) {
    var found = channels.find(channel);
    if (found == null) {
      return null;
    }
    var names = found.options().names();
    if (found.mode() == Mode.BROADCAST) {
      return new ChannelContents(channel, found.mode(), names, List.of(), List.of(), null);
    }
    try {
      return new ChannelContents(
          channel,
          found.mode(),
          names,
          operations.peek(found, SHOWN),
          operations.deadLetters().of(found, SHOWN),
          null);
    } catch (PgOnceException e) {
      return new ChannelContents(
          channel, found.mode(), names, List.of(), List.of(), e.getMessage());
    }
  }

  /**
   * The state of this process, and of the database.
   *
   * @param problem why the database could not be asked, for example for want of a right; null where
   *     it was
   */
  public record Overview(Status process, List<ChannelStatus> channels, @Nullable String problem) {}

  /**
   * What is stored of a channel.
   *
   * @param problem why it could not be read, for example for want of a right; null where it was
   */
  public record ChannelContents(
      String channel,
      Mode mode,
      Set<String> subscriptions,
      List<Waiting> waiting,
      List<DeadLetter> deadLetters,
      @Nullable String problem) {}
}
