package org.pgonce.internal.listen;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.pgonce.spi.WakeUpConnection;

/** A real connection that passes on only the NOTIFYs of its own that the test lets through. */
record StatementTap(WakeUpConnection real, Predicate<List<String>> passes)
    implements WakeUpConnection {

  static StatementTap muting(WakeUpConnection real, AtomicBoolean mute) {
    return new StatementTap(real, statements -> !(mute.get() && isNotify(statements)));
  }

  static StatementTap counting(WakeUpConnection real, AtomicInteger count) {
    return new StatementTap(
        real,
        statements -> {
          if (isNotify(statements)) {
            count.incrementAndGet();
          }
          return true;
        });
  }

  private static boolean isNotify(List<String> statements) {
    return statements.get(0).startsWith("NOTIFY");
  }

  @Override
  public void execute(List<String> statements, Duration timeout) throws SQLException {
    if (passes.test(statements)) {
      real.execute(statements, timeout);
    }
  }

  @Override
  public int backendPid() {
    return real.backendPid();
  }

  @Override
  public boolean pooled() {
    return real.pooled();
  }

  @Override
  public void close() {
    real.close();
  }
}
