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

  private ServerSettings() {}
}
