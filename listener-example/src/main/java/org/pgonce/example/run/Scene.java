package org.pgonce.example.run;

import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import org.pgonce.testkit.Cleanup;

/** A database for a scenario, processes beside it, and the counts that say whether it held. */
public final class Scene implements AutoCloseable {

  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Duration TICK = Duration.ofMillis(10);
  private static final int POOL = 12;

  private final Stage stage;
  private final Cleanup cleanup = new Cleanup();
  private boolean kept = true;

  Scene(Stage stage) {
    this.stage = stage;
  }

  /** A pool of its own, as each instance of a service has; closed with the scene. */
  public HikariDataSource dataSource() {
    var pool = cleanup.add(stage.address().pool("scenario", POOL));
    pool.setMinimumIdle(1); // a scenario has several, and most of them do little
    return pool;
  }

  /** Another JVM with the address of the database in its environment; dead when this is closed. */
  public Process process(Class<?> main, String... arguments) {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ListenerProcess.SMALL);
    command.add(main.getName());
    command.addAll(List.of(arguments));
    // Its standard input stays a pipe, by which it notices that we are gone.
    var builder =
        new ProcessBuilder(command)
            .redirectOutput(ProcessBuilder.Redirect.INHERIT)
            .redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
    stage.address().toEnvironment(builder.environment());
    try {
      var process = builder.start();
      cleanup.add(() -> process.destroyForcibly().waitFor());
      return process;
    } catch (IOException e) {
      throw new CannotRunException("no JVM starts from " + command.get(0), e);
    }
  }

  /** A line of what happens. */
  public void tell(String what, String text) {
    stage.console().tell("%-12s %s".formatted(what, text));
  }

  public void execute(String sql) throws SQLException {
    Sql.execute(stage.address(), sql);
  }

  /** The first column of the only row. */
  public long number(String sql) throws SQLException {
    return Sql.number(stage.address(), sql);
  }

  /** Waits for it, 30 s at most; if it does not come, the scenario is broken. */
  public void await(String what, Callable<Boolean> condition) throws Exception {
    var begun = System.nanoTime();
    while (!condition.call()) {
      if (System.nanoTime() - begun > PATIENCE.toNanos()) {
        stage.console().say("%-12s not within %d s: %s".formatted("", PATIENCE.toSeconds(), what));
        kept = false;
        return;
      }
      LockSupport.parkNanos(TICK.toNanos());
    }
  }

  /** Shows a count, and remembers whether it is the one that was promised. */
  public void check(String what, long actual, long promised, String meaning) {
    var right = actual == promised;
    kept &= right;
    stage
        .console()
        .say(
            "%-12s %8s  %s%s"
                .formatted(
                    what,
                    Text.number(actual),
                    meaning,
                    right ? "" : ": BROKEN, promised were " + Text.number(promised)));
  }

  /** Remembers whether it is so, and shows it if it is not. */
  public void isTrue(String what, boolean actual) {
    if (!actual) {
      kept = false;
      stage.console().say("%-12s BROKEN: it is not so that %s".formatted("", what));
    }
  }

  boolean isKept() {
    return kept;
  }

  @Override
  public void close() {
    cleanup.close();
  }
}
