package org.pgonce.internal.store;

import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Objects;
import java.util.regex.Pattern;
import org.pgonce.Channel;

/** Which names channels may have, and what PostgreSQL calls them. */
public final class ChannelNames {

  // 48 + the prefix stays under the 63 bytes at which LISTEN cuts a name with only a NOTICE
  // (NAMEDATALEN - 1).
  private static final Pattern VALID = Pattern.compile("[a-z][a-z0-9_.-]{0,47}");
  private static final String PREFIX = "pgonce_";

  private ChannelNames() {}

  /** Returns the name, or throws an IllegalArgumentException that says what is wrong with it. */
  public static String requireValid(String what, String name) {
    if (!VALID.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "%s name \"%s\" (%d bytes) is not valid: 1 to 48 characters, first a to z, then a to z, 0 to 9, '_', '.' or '-'. PostgreSQL would fold or cut other names, and two could become one"
              .formatted(what, name, name.getBytes(StandardCharsets.UTF_8).length));
    }
    return name;
  }

  /** Two channels of the same name would take the place of each other. */
  public static void requireDifferent(Channel<?>... channels) {
    var names = new HashSet<String>();
    for (var channel : channels) {
      if (!names.add(Objects.requireNonNull(channel, "a channel").name())) {
        throw new IllegalArgumentException(
            "two channels have the name %s, and one would take the place of the other: give one of them another name"
                .formatted(channel.name()));
      }
    }
  }

  public static String wakeUpChannel(String name) {
    return PREFIX + name;
  }
}
