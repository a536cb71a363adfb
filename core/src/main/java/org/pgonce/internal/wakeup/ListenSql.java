package org.pgonce.internal.wakeup;

import java.nio.charset.StandardCharsets;

/** The few statements that ever run on a LISTEN connection. */
final class ListenSql {

  // NAMEDATALEN - 1. LISTEN cuts a longer name with only a NOTICE, and would hear another channel.
  private static final int MAX_NAME_BYTES = 63;
  // One byte under what PostgreSQL refuses (NOTIFY_PAYLOAD_MAX_LENGTH).
  private static final int MAX_PAYLOAD_BYTES = 7_999;

  static final String BACKEND_PID = "SELECT pg_catalog.pg_backend_pid()";

  // From PostgreSQL 14 on.
  static final String NO_IDLE_TIMEOUT = "SET idle_session_timeout = 0";

  private ListenSql() {}

  static String listen(String channel) {
    return "LISTEN " + identifier(channel);
  }

  static String unlisten(String channel) {
    return "UNLISTEN " + identifier(channel);
  }

  static String notify(String channel, String payload) {
    return "NOTIFY " + identifier(channel) + ", " + literal(payload);
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

  // The E form means the same whatever standard_conforming_strings is set to.
  private static String literal(String payload) {
    if (payload.getBytes(StandardCharsets.UTF_8).length > MAX_PAYLOAD_BYTES
        || payload.indexOf('\0') >= 0) {
      throw new IllegalArgumentException(
          "a NOTIFY payload may have up to 7999 bytes and no NUL; send an id, not the data");
    }
    return "E'" + payload.replace("\\", "\\\\").replace("'", "''") + "'";
  }
}
