package org.pgonce.internal.store;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** Which channel names there are, and what PostgreSQL calls them. */
public final class ChannelNames {

  // 48 + the prefix stays under the 63 bytes at which LISTEN cuts a name with only a NOTICE
  // (NAMEDATALEN - 1).
  private static final Pattern VALID = Pattern.compile("[a-z][a-z0-9_.-]{0,47}");
  private static final String PREFIX = "pgonce_";

  private ChannelNames() {}

  /** Returns the name, or throws an IllegalArgumentException that says what is wrong with it. */
  public static String requireValid(String name) {
    return requireValid("channel", name);
  }

  /** The same for another thing that is named alike. */
  public static String requireValid(String what, String name) {
    if (!VALID.matcher(name).matches()) {
      throw new IllegalArgumentException(
          what
              + " name \""
              + name
              + "\" ("
              + name.getBytes(StandardCharsets.UTF_8).length
              + " bytes) is not valid: 1 to 48 characters, first a to z, then a to z, 0 to 9, '_', '.' or '-'."
              + " PostgreSQL would fold or cut other names, and two could become one");
    }
    return name;
  }

  /** The PostgreSQL channel that carries the wake-ups of a channel. */
  public static String wakeUpChannel(String name) {
    return PREFIX + name;
  }
}
