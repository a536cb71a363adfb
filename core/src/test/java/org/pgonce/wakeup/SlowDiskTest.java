package org.pgonce.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.WakeUps;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/**
 * A disk that takes 20 ms for each flush: one commit at a time with a NOTIFY is 50 a second,
 * however many the writers are, and without they flush together.
 */
@PgTest(PgOnceInstalled.class)
class SlowDiskTest {

  private static final Map<String, String> SLOW =
      Map.of("commit_delay", "20000", "commit_siblings", "0");

  private static final String GATE =
      "select notify_gate from pgonce.channel_status where channel = 'orders'";

  // To the one that is not lost: a heartbeat comes behind a poll.
  private static final String FIRST_IS_KNOWN =
      "select max(seen_at) > (select o.seen_at from pgonce.listener o where o.instance = 'lost') from pgonce.listener";

  private static final String ASK =
      "select pgonce.do_writers_wait('orders', array_agg(s.id order by s.id)) from pgonce.subscription s";

  @Test
  void whoMayNotOpenTheGateDoesNotAskWhetherWritersWait(TestDatabase database) throws Exception {
    try (var stage = new Stage(database)) {
      assertThat(database.queryString(ASK)).isEqualTo("f");
      PgOnce.using(stage.dataSource)
          .install(
              Channel.of(
                  "orders",
                  Stage.Order.class,
                  Mode.EXACTLY_ONCE,
                  ChannelOptions.DEFAULT.withWakeUps(WakeUps.ALWAYS)));
      assertThat(database.queryString(ASK)).isNull();
    }
  }

  @Test
  void whereTheServerKeepsItsLocksToItselfNobodyIsSaidToWait(TestDatabase database)
      throws Exception {
    try (var stage = new Stage(database)) {
      database.execute("revoke select on pg_catalog.pg_locks from public");
      assertThat(database.queryString(ASK)).isEqualTo("f");
    }
  }

  /** Also where the first of the listeners is lost, or frozen. */
  @Tag("all")
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void h49_writersWhoWaitForOneAnotherForTheDiskDoNotNotify(boolean firstIsLost) throws Exception {
    try (var server = TestServer.start(SLOW);
        var database = server.createDatabase();
        var stage = new Stage(database);
        var pgonce = PgOnce.builder(stage.dataSource).stopTimeout(Duration.ofSeconds(2)).build()) {
      pgonce.listen(Stage.ORDERS, ListenOptions.DEFAULT.withConcurrency(4), (order, tx) -> {});
      pgonce.start();
      if (firstIsLost) {
        stage.aLostOneIsTheFirst(Stage.ORDERS);
        stage.awaitSoon(() -> "t".equals(database.queryString(FIRST_IS_KNOWN)));
      }
      try (var writers = new SingleWriters(stage.dataSource, 12)) {
        stage.awaitSoon(() -> "OPEN".equals(database.queryString(GATE)));
        // It is worth it, and goes on: the gate does not close at once.
        var before = writers.published();
        stage.awaitSoon(() -> writers.published() > before + 1_000);
        assertThat(database.queryString(GATE)).isEqualTo("OPEN");
        writers.stop();
        stage.awaitNothingWaits();
      }
    }
  }
}
