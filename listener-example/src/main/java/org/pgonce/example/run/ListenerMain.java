package org.pgonce.example.run;

import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.ParentWatch;

/**
 * One listener process. Says {@link #LISTENING} once it is at work, and ends by SIGTERM, or when
 * the process that started it is gone.
 */
public final class ListenerMain {

  public static final String LISTENING = "listening";

  // Besides the handlers' connections: one for the poll, one for what must not wait for them.
  private static final int MORE_CONNECTIONS = 2;

  private ListenerMain() {}

  /**
   * Listens until told to end.
   *
   * @param arguments name of this process, mode, number of handlers at once
   */
  public static void main(String[] arguments) throws InterruptedException {
    ParentWatch.exitWhenParentDies();
    var name = arguments[0];
    var mode = Mode.valueOf(arguments[1]);
    var options = ListenOptions.DEFAULT.withConcurrency(Integer.parseInt(arguments[2]));
    try (var pool =
            DatabaseAddress.fromEnvironment().pool(name, options.concurrency() + MORE_CONNECTIONS);
        var pgonce = PgOnce.builder(pool).instance(name).build()) {
      var started =
          mode == Mode.BROADCAST
              ? HeardAuthors.start(pgonce, options)
              : WelcomePosts.start(pgonce, options);
      System.out.println(LISTENING);
      started.awaitStopped();
    } catch (PgOnceException e) {
      System.out.println(e.getMessage());
      System.exit(ExitStatus.CANNOT_RUN);
    }
  }
}
