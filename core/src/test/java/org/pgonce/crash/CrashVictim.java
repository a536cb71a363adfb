package org.pgonce.crash;

import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.Map;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.spi.Event;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.TestDatabase;

/**
 * A listener in a process of its own that stops at a point of the crash matrix, says so, and waits
 * there to be killed or frozen.
 */
final class CrashVictim {

  /** Where it stops, and the line that it prints there. */
  enum Point {
    NONE("told"),
    BEFORE_HANDLER("decoding"),
    IN_HANDLER("in the handler");

    final String line;

    Point(String line) {
      this.line = line;
    }
  }

  private CrashVictim() {}

  /**
   * Starts one.
   *
   * @param port where its pool connects: the server's, or that of a proxy in front of it
   * @param timeout of its handler
   */
  static JvmProcess start(
      TestDatabase database, Mode mode, Point point, int port, Duration timeout) {
    return JvmProcess.of(CrashVictim.class)
        .property("pgonce.test.driver", System.getProperty("pgonce.test.driver", "pgjdbc"))
        .arguments(
            database.host(),
            String.valueOf(database.port()),
            database.name(),
            database.user(),
            mode.name(),
            point.name(),
            String.valueOf(port),
            String.valueOf(timeout.toMillis()))
        .start();
  }

  public static void main(String[] arguments) throws Exception {
    ParentWatch.exitWhenParentDies();
    var direct =
        new Login(arguments[0], Integer.parseInt(arguments[1]), arguments[2], arguments[3], "");
    var pooled =
        new Login(
            direct.host(), Integer.parseInt(arguments[6]), direct.database(), direct.user(), "");
    var point = Point.valueOf(arguments[5]);
    var effects = new CrashEffects(direct.dataSource(), "victim", true);
    try (var pool = pooled.pooled(4);
        var pgonce =
            PgOnce.builder(pool)
                .codec(codec(point, effects))
                .observer(teller())
                .listenAddress(
                    new ListenAddress(
                        direct.host(),
                        direct.port(),
                        direct.database(),
                        direct.user(),
                        null,
                        Map.of()))
                .pollInterval(Duration.ofMillis(500))
                .build()) {
      pgonce
          .listen(
              CrashEffects.channel(Mode.valueOf(arguments[4])),
              CrashEffects.OPTIONS.withHandlerTimeout(
                  Duration.ofMillis(Long.parseLong(arguments[7]))),
              (order, tx) -> {
                effects.handle(order, tx);
                if (point == Point.IN_HANDLER) {
                  stop(point, effects);
                }
              })
          .start();
      // A broadcast would not wait for whoever does not hear it yet.
      await("a listener that hears")
          .atMost(CrashEffects.BOUND)
          .until(() -> pgonce.status().listenFailure() == null);
      System.out.println("started");
      pgonce.awaitStopped();
    }
  }

  private static void stop(Point point, CrashEffects effects) throws Exception {
    System.out.println(point.line);
    effects.awaitGate();
  }

  private static PayloadCodec codec(Point point, CrashEffects effects) {
    var codec = PayloadCodec.standard();
    return new PayloadCodec() {
      @Override
      public <T> String encode(T payload, Class<T> type) {
        return codec.encode(payload, type);
      }

      @Override
      public <T> T decode(String json, Class<T> type) throws UnreadablePayloadException {
        if (point == Point.BEFORE_HANDLER) {
          try {
            stop(point, effects);
          } catch (Exception e) {
            throw new IllegalStateException(e);
          }
        }
        return codec.decode(json, type);
      }
    };
  }

  private static Observer teller() {
    return event -> {
      if (event instanceof Event.Handled) {
        System.out.println(Point.NONE.line);
      }
    };
  }
}
