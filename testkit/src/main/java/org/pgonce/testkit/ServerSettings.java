package org.pgonce.testkit;

import java.util.Map;

/** What every server that the tests start is set to. */
final class ServerSettings {

  /**
   * Durable as in production: a test that kills the server must lose nothing that was committed.
   */
  static final Map<String, String> DEFAULTS =
      Map.of(
          "fsync", "on",
          "synchronous_commit", "on",
          "max_connections", "200",
          "max_prepared_transactions", "20",
          "log_min_messages", "fatal",
          "timezone", "UTC");

  /**
   * Of the server that all tests of a JVM share, beside that. Nobody kills it, or pulls its plug: a
   * commit need not wait for the disk. Each of the hundreds of databases that are made and dropped
   * there would cost a checkpoint that does.
   */
  static final Map<String, String> OF_THE_SHARED_ONE =
      Map.of("fsync", "off", "full_page_writes", "off");

  private ServerSettings() {}
}
