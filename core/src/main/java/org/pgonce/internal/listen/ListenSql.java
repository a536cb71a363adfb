package org.pgonce.internal.listen;

import java.nio.charset.StandardCharsets;

/** The few statements that ever run on a LISTEN connection. */
final class ListenSql {

  // NAMEDATALEN - 1. LISTEN cuts a longer name with only a NOTICE: that is another channel.
  private static final int MAX_NAME_BYTES = 63;

  /** A LISTEN session is idle for longer than most databases allow. From PostgreSQL 14 on. */
  static final String NO_IDLE_TIMEOUT = "SET idle_session_timeout = 0";

  private ListenSql() {}

  static String listen(String channel) {
    return "LISTEN " + identifier(channel);
  }

  static String unlisten(String channel) {
    return "UNLISTEN " + identifier(channel);
  }

  // The E form means the same whatever standard_conforming_strings is set to.
  static String notify(String channel, String payload) {
    return "NOTIFY "
        + identifier(channel)
        + ", E'"
        + payload.replace("\\", "\\\\").replace("'", "''")
        + "'";
  }

  private static String identifier(String name) {
    int bytes = name.getBytes(StandardCharsets.UTF_8).length;
    if (bytes < 1 || bytes > MAX_NAME_BYTES || name.indexOf('\0') >= 0) {
      throw new IllegalArgumentException(
          "PostgreSQL channel \""
              + name
              + "\" has "
              + bytes
              + " bytes or a NUL: 1 to 63 bytes are possible, PostgreSQL would cut a longer name");
    }
    return '"' + name.replace("\"", "\"\"") + '"';
  }
}
