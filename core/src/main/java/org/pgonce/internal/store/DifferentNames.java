package org.pgonce.internal.store;

import java.util.HashSet;
import java.util.Objects;
import org.pgonce.Channel;

/** No two channels may have the same name: one would take the place of the other. */
public final class DifferentNames {

  private DifferentNames() {}

  /**
   * Passes if each has a name of its own.
   *
   * @throws IllegalArgumentException if two have the same
   * @throws NullPointerException if one is null
   */
  public static void require(Channel<?>... channels) {
    var names = new HashSet<String>();
    for (var channel : channels) {
      if (!names.add(Objects.requireNonNull(channel, "a channel").name())) {
        throw new IllegalArgumentException(
            "two channels have the name %s, and one would take the place of the other: give one of them another name"
                .formatted(channel.name()));
      }
    }
  }
}
