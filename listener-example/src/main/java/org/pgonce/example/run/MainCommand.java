package org.pgonce.example.run;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** The main run: listeners share a stream of inserts while they are killed. */
@Command(
    name = "listener-example",
    mixinStandardHelpOptions = true,
    version = "pgonce listener-example",
    description = {
      "Author rows in, one first post per author out, while listener processes are killed.",
      "",
      "Starts PostgreSQL and several listener processes, inserts authors from several threads, kills listeners with SIGKILL at random and replaces them, and counts what came of it. Further runs: see the commands below.",
      ""
    },
    synopsisSubcommandLabel = "[COMMAND]",
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:kept: nothing lost, nothing doubled, nothing left over",
      "1:broken: something was",
      "2:an option is wrong",
      "3:the run cannot be made: no server, no right, a wrong definition",
      "130:ended by Ctrl-C (143: by SIGTERM)"
    })
public final class MainCommand implements Callable<Integer> {

  private static final int KILLS = 12;

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final WorkOptions work = new WorkOptions();
  @Mixin private final ListenerOptions listening = new ListenerOptions();
  @Mixin private final ServerOptions server = new ServerOptions();
  @Mixin private final ConsoleOptions shown = new ConsoleOptions();
  @Mixin private final PagesOption pages = new PagesOption();

  private @Nullable Integer kills;
  private @Nullable Duration killInterval;

  @Option(
      names = "--seed",
      paramLabel = "<n>",
      description = "Seed of all chance: who is killed, and when. Default random, and printed.")
  private @Nullable Long seed;

  @Option(
      names = "--mode",
      paramLabel = "exactly-once|broadcast",
      converter = ModeConverter.class,
      defaultValue = "exactly-once",
      description =
          "exactly-once: one process handles a row. broadcast: every process that is up hears of it. Default ${DEFAULT-VALUE}.")
  private Mode mode = Mode.EXACTLY_ONCE;

  @Option(
      names = "--kills",
      paramLabel = "<n>",
      description =
          "Listeners to kill, 0 to 100,000, at points of the work drawn from the seed. Default "
              + KILLS
              + "; 0 in broadcast; no limit with --kill-interval.")
  void kills(int value) {
    kills = Bounds.require(spec, "--kills", value, 0, 100_000);
  }

  @Option(
      names = "--kill-interval",
      paramLabel = "<ms>",
      description =
          "Kill one every so many milliseconds instead, 10 to 60,000, of those still starting where only one is at work.")
  void killInterval(int value) {
    killInterval = Duration.ofMillis(Bounds.require(spec, "--kill-interval", value, 10, 60_000));
  }

  @Override
  public Integer call() throws InterruptedException, SQLException {
    var console = shown.console();
    var chosen = seed == null ? ThreadLocalRandom.current().nextLong(1_000_000_000) : seed;
    console.say("seed         " + chosen);
    try (var stage = Stage.open(server, console)) {
      return mode == Mode.BROADCAST
          ? broadcast(stage, new Random(chosen))
          : exactlyOnce(stage, new Random(chosen));
    }
  }

  private int exactlyOnce(Stage stage, Random random) throws InterruptedException {
    var plan = work.plan(20_000, 0, 20);
    var listeners = atWork(stage);
    var killer = new Killer(killPlan(KILLS, plan.rows(), random), random, listeners);
    return new MainRun(stage, listeners, killer, plan).run();
  }

  private int broadcast(Stage stage, Random random) throws InterruptedException, SQLException {
    var plan = work.plan(2_000, 500, 20);
    var listeners = atWork(stage);
    var killer = new Killer(killPlan(0, plan.rows(), random), random, listeners);
    return new BroadcastLoad(stage, listeners, killer, plan).run();
  }

  private Listeners atWork(Stage stage) throws InterruptedException {
    var listeners = stage.listeners(mode, listening);
    listeners.start(listening.processes());
    listeners.awaitListening();
    stage.console().tell("listeners    " + listening.processes() + " at work");
    pages.open(stage); // not before: what they show is there now
    return listeners;
  }

  private Killer.Plan killPlan(int killsByDefault, long rows, Random random) {
    if (killInterval != null) {
      return new Killer.Every(killInterval, kills == null ? Integer.MAX_VALUE : kills);
    }
    return Killer.AtPoints.spread(kills == null ? killsByDefault : kills, rows, random);
  }

  static final class ModeConverter implements ITypeConverter<Mode> {
    @Override
    public Mode convert(String name) {
      try {
        return Mode.valueOf(name.replace('-', '_').toUpperCase(Locale.ROOT));
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException("expected exactly-once or broadcast, got '" + name + "'");
      }
    }
  }
}
