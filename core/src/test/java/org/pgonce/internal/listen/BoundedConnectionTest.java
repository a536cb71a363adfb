package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.InterruptedIOException;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What {@link BoundedConnection} makes of what drivers throw. */
class BoundedConnectionTest {

  private static final Duration AMPLE = Duration.ofSeconds(30);

  private static Throwable failure(Callable<Object> call, Duration timeout) {
    return catchThrowableOfType(
        SQLException.class,
        () -> BoundedConnection.run("the call", call, timeout, "08006", late -> {}));
  }

  private static Throwable failure(Exception thrown) {
    return failure(
        () -> {
          throw thrown;
        },
        AMPLE);
  }

  private static String sqlState(Throwable failure) {
    return ((SQLException) failure).getSQLState();
  }

  @Test
  void h60_aTimeoutOfTheDriversOwnHasAnSqlState() {
    // As pgjdbc-ng 0.8.9 throws it: neither words nor a state.
    var thrown = new SQLTimeoutException(new InterruptedIOException("read"));

    assertThat(failure(thrown))
        .hasMessageContaining("the call failed")
        .satisfies(e -> assertThat(e.getCause()).isSameAs(thrown))
        .extracting(BoundedConnectionTest::sqlState)
        .isEqualTo("08006");
  }

  @Test
  void h60_theCallersDeadlineHasAnSqlState() {
    var never = new CountDownLatch(1);
    try {
      assertThat(failure(() -> never.await(30, TimeUnit.SECONDS), Duration.ofMillis(50)))
          .hasMessageContaining("the call took longer than 50 ms")
          .extracting(BoundedConnectionTest::sqlState)
          .isEqualTo("08006");
    } finally {
      never.countDown();
    }
  }

  @Test
  void h64_whatTheServerSaysStaysAsItIs() {
    var thrown = new SQLException("no such database", "3D000");

    assertThat(failure(thrown)).isSameAs(thrown);
  }

  @Test
  void h60_aRuntimeExceptionOfTheDriverIsAnSqlException() {
    var thrown = new IllegalStateException("channel closed");

    assertThat(failure(thrown))
        .hasMessageContaining("the call failed")
        .hasMessageContaining("channel closed")
        .satisfies(e -> assertThat(e.getCause()).isSameAs(thrown))
        .extracting(BoundedConnectionTest::sqlState)
        .isEqualTo("08006");
  }

  @Test
  void h60_aFailureJustAsTheDeadlinePassesIsAnSqlException() {
    var thrown = new SQLException("gone", "08006");
    for (var round = 0; round < 2_000; round++) {
      // Null would be: something else was thrown, or nothing.
      assertThat(
              failure(
                  () -> {
                    throw thrown;
                  },
                  Duration.ofNanos(1_000L * (round % 100))))
          .isNotNull();
    }
  }
}
