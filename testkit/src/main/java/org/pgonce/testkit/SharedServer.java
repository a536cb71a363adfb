package org.pgonce.testkit;

import java.util.Map;

/**
 * Holds the server of {@link TestServer#shared()}; the class is initialized, and so the server
 * started, at first use.
 */
final class SharedServer {

  static final TestServer INSTANCE = ServerKind.configured().startShared(Map.of());

  private SharedServer() {}
}
