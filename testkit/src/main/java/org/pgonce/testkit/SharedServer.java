package org.pgonce.testkit;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The server of {@link TestServer#shared()}: started at first use. Where it does not start, each
 * test that asks for it is told why; none starts it again.
 */
final class SharedServer {

  private static final SharedServer OF_THIS_JVM =
      new SharedServer(() -> ServerKind.configured().startShared(ServerSettings.OF_THE_SHARED_ONE));

  private final Supplier<TestServer> start;
  private @Nullable TestServer server;
  private @Nullable RuntimeException failure;

  SharedServer(Supplier<TestServer> start) {
    this.start = start;
  }

  static TestServer ofThisJvm() {
    return OF_THIS_JVM.get();
  }

  synchronized TestServer get() {
    if (failure != null) {
      throw new IllegalStateException(failure.getMessage(), failure);
    }
    if (server == null) {
      try {
        server = start.get();
      } catch (RuntimeException e) {
        failure = e;
        throw e;
      }
    }
    return server;
  }
}
