package org.pgonce.testkit;

/**
 * Holds the server of {@link TestServer#shared()}; the class is initialized, and so the server
 * started, at first use.
 */
final class SharedServer {

  static final TestServer INSTANCE =
      ServerKind.configured().startShared(ServerSettings.OF_THE_SHARED_ONE);

  private SharedServer() {}
}
