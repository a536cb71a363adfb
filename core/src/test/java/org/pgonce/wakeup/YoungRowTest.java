package org.pgonce.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.stage.ListenerProcess;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Of many listeners, the polls of all but the first leave a row alone that announced itself. */
@PgTest(PgOnceInstalled.class)
class YoungRowTest {

  private static final int LISTENERS = 3;

  private TestDatabase database;
  private Stage stage;

  @BeforeEach
  void prepare(TestDatabase prepared) throws SQLException {
    database = prepared;
    stage = new Stage(prepared);
    for (var i = 0; i < LISTENERS; i++) {
      database.execute(
          "select pgonce.listener_starts('%s', 'test', (select array_agg(s.id) from pgonce.subscription s), 'test', 60000)"
              .formatted(UUID.randomUUID()));
    }
    stage.publish(1);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  /** The ranks of those whose poll says that a row is ready. */
  private List<Integer> told() throws SQLException {
    var ranks = new ArrayList<Integer>();
    for (var rank = 0; rank < LISTENERS; rank++) {
      var isReady =
          database.queryString(
              "select p.ready from pgonce.listener l cross join pgonce.poll(l.id) p where p.rank = %d"
                  .formatted(rank));
      if ("t".equals(isReady)) {
        ranks.add(rank);
      }
    }
    return ranks;
  }

  private void storedAgo(String interval) throws SQLException {
    database.execute(
        "update pgonce.notification set created_at = clock_timestamp() - interval '%s' where subscription_id > 0"
            .formatted(interval));
  }

  @Test
  void aYoungRowIsLeftToTheFirst() throws Exception {
    // Again where the machine was so slow that it was no longer young.
    stage.awaitSoon(
        () -> {
          storedAgo("0");
          return told().equals(List.of(0));
        });
    storedAgo("300 milliseconds");
    assertThat(told()).containsExactly(0, 1, 2);
  }

  @Test
  void h83_whoDoesNotHandleItAnyMoreHasNoRank() throws Exception {
    var second =
        "select l.id from pgonce.listener l cross join pgonce.poll(l.id) p where p.rank = 1";
    var id = database.queryString(second);
    assertThat(first()).isNotEqualTo(id);
    database.execute(
        "update pgonce.listener set outdated = array['changed'] where id = '%s'"
            .formatted(first()));
    assertThat(first()).isEqualTo(id);
    assertThat(database.queryString(second)).isNotEqualTo(id);
  }

  private @Nullable String first() throws SQLException {
    return database.queryString("select f.listener from pgonce.first_listeners() f");
  }

  /** These listeners are on the list and do nothing. */
  @Test
  void h88_whatTheFirstDoesNotHandleAnotherFindsByItsPoll() throws Exception {
    try (var pgonce = ListenerProcess.listen(stage.dataSource)) {
      stage.awaitSoon(() -> stage.effects() == 1);
      database.execute("select setval('pgonce.gate_orders', %d)".formatted(Long.MAX_VALUE - 1));
      stage.publish(1); // which notifies nobody
      stage.awaitSoon(() -> stage.effects() == 2);
    }
  }

  @Test
  void h80_aRowFromBeforeTheClockWasSetBackIsNotYoungForLong() throws Exception {
    storedAgo("-1 hour");
    assertThat(told()).containsExactly(0, 1, 2);
  }

  @Test
  void h11_whereWritersNeverNotifyNobodyLeavesARowToTheFirst() throws Exception {
    database.execute("update pgonce.channel set wake_ups = 'NEVER'");
    storedAgo("0");
    assertThat(told()).containsExactly(0, 1, 2);
  }
}
