package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The writer's rows are as large as the writer likes. */
@PgTest(PgOnceInstalled.class)
class PayloadSizeTest {

  record Document(int id, String text) {}

  static final TriggerChannel<Document> STORED =
      TriggerChannel.on("document", Document.class).afterInsert().build();
  static final TriggerChannel<Document> BROADCAST =
      TriggerChannel.on("document", Document.class)
          .afterInsert()
          .mode(Mode.BROADCAST)
          .named("news")
          .build();

  @BeforeEach
  void table(TestDatabase database) throws Exception {
    database.execute("create table document (id int not null, text text not null)");
  }

  @Test
  void h03_rowsOf8kBAnd1MBAreHandledAndTheirNotifyCarriesNothing(TestDatabase database)
      throws Exception {
    var lengths = new CopyOnWriteArrayList<Integer>();
    PgOnce.using(database.dataSource()).install(STORED);
    try (var pgonce = PgOnce.using(database.pooled(8));
        var wakeUps = new Ear(database, STORED)) {
      pgonce.listen(STORED, (added, tx) -> lengths.add(added.payload().text().length())).start();

      database.execute("insert into document values (1, repeat('x', 8192))");
      database.execute("insert into document values (2, repeat('ä', 1048576))");

      await()
          .atMost(Duration.ofSeconds(20))
          .untilAsserted(() -> assertThat(lengths).containsExactlyInAnyOrder(8192, 1048576));
      assertThat(wakeUps.take()).containsOnly("");
    }
  }

  @Test
  @Tag("all")
  void h03_aRowOf100MBIsWrittenAndStoredAndItsNotifyCarriesNothing(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(STORED);
    try (var wakeUps = new Ear(database, STORED)) {
      database.execute("insert into document values (1, repeat('x', 100000000))");

      assertThat(
              database.queryLong(
                  "select octet_length(payload::text) from pgonce.notification where subscription_id > 0"))
          .isEqualTo(100_000_000 + "{\"id\":1,\"text\":\"\"}".length());
      assertThat(wakeUps.take()).containsOnly("");
    }
  }

  @Test
  void h03_aBroadcastRowAbove1MBIsWrittenAndOnlyTheFactIsSent(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(BROADCAST);
    try (var wakeUps = new Ear(database, BROADCAST)) {
      database.execute("insert into document values (1, repeat('x', 2 * 1024 * 1024))");

      assertThat(wakeUps.take()).singleElement().asString().endsWith("/0/0:").hasSizeLessThan(40);
    }
  }
}
