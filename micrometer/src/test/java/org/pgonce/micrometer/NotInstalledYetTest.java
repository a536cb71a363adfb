package org.pgonce.micrometer;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.micrometer.Stage.OFTEN;
import static org.pgonce.micrometer.Stage.value;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

/** A service that binds its meters before pgonce is in the database, as a starter's does. */
@PgTest
class NotInstalledYetTest {

  private static final Channel<String> MAILS = Channel.of("mails", String.class);

  private final PrintStream console = System.out;
  private final ByteArrayOutputStream log = new ByteArrayOutputStream();

  @BeforeEach
  void listenToTheLog() {
    System.setOut(new PrintStream(log, true, UTF_8));
  }

  @AfterEach
  void giveTheConsoleBack() {
    System.setOut(console);
    console.print(log.toString(UTF_8));
  }

  private List<String> linesOf(Class<?> logger) {
    return log.toString(UTF_8).lines().filter(line -> line.contains(logger.getName())).toList();
  }

  @Test
  void isSaidOnceAndTheGaugesComeWithTheInstallation(TestDatabase database) throws Exception {
    var registry = new SimpleMeterRegistry();
    var looks = new AtomicInteger();
    try (var stage = new Stage(database)) {
      var asked =
          TappedSource.over(
              stage.dataSource,
              (sql, real) -> {
                if (sql.contains("pgonce.channel_gauges")) {
                  looks.incrementAndGet();
                }
                return sql;
              });
      var pgonce = stage.open(stage.builder().build());
      stage.open(PgOnceMetrics.of(pgonce, asked, OFTEN)).bindTo(registry);

      stage.awaitSoon(() -> looks.get() > 3); // so three have failed
      assertThat(linesOf(PgOnceMetrics.class))
          .singleElement()
          .asString()
          .contains("INFO", "pgonce is not installed in this database", "asked every PT0.1S");
      assertThat(registry.find("pgonce.backlog").meters()).isEmpty();
      assertThat(value(registry, "pgonce.notify.queue.usage")).isNaN();

      pgonce.install(MAILS);
      stage.awaitSoon(0, registry, "pgonce.backlog", "channel", "mails");
      assertThat(value(registry, "pgonce.notify.queue.usage")).isZero();
      assertThat(linesOf(PgOnceMetrics.class)).hasSize(1);
    }
  }
}
