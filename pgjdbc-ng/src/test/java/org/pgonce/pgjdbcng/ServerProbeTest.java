package org.pgonce.pgjdbcng;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A host with several addresses. */
@PgTest
class ServerProbeTest {

  /** Accepted by the kernel; nobody takes the connection, so nobody answers. */
  private static ServerSocket silent() throws Exception {
    return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  }

  private static InetSocketAddress address(ServerSocket socket) {
    return new InetSocketAddress(socket.getInetAddress(), socket.getLocalPort());
  }

  private static long in(Duration time) {
    return System.nanoTime() + time.toNanos();
  }

  @Test
  void anAddressThatIsSilentLeavesTheOthersTheirShareOfTheTime(TestDatabase database)
      throws Exception {
    try (var silent = silent();
        var server = FaultProxy.to(database)) {
      server.delay(Duration.ofMillis(50)); // it needs some time of its own
      var candidates =
          List.of(address(silent), new InetSocketAddress(server.host(), server.port()));
      var found = ServerProbe.ofFirstThatAnswers(candidates, in(Duration.ofSeconds(2)));
      assertThat(found.address()).isEqualTo(InetAddress.getLoopbackAddress());
    }
  }

  @Test
  void whereNoneAnswersTheLastFailureIsTheReason() throws Exception {
    try (var silent = silent()) {
      var candidates = List.of(address(silent), address(silent));
      assertThatThrownBy(
              () -> ServerProbe.ofFirstThatAnswers(candidates, in(Duration.ofMillis(50))))
          .isInstanceOf(SocketTimeoutException.class);
    }
  }
}
