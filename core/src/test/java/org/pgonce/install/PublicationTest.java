package org.pgonce.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.stage.OnCall;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H73: a publication of all tables makes PostgreSQL refuse changes of a table without a key. */
@Tag("versions")
@PgTest
class PublicationTest {

  private static final Duration BOUND = Duration.ofSeconds(60);
  private static final String PUBLICATION = "create publication everything for all tables";

  private static final Channel<String> WORK = keyed("work", Mode.EXACTLY_ONCE);
  private static final Channel<String> LEASED = keyed("leased", Mode.AT_LEAST_ONCE);
  private static final Channel<String> DOOMED = Channel.of("doomed", String.class);

  // Rows are changed in partitions, so each of these has its key, and the whole has none.
  private static final String UNKEYED =
      """
      select string_agg(c.relname, ', ') from pg_class c
       where c.relnamespace = 'pgonce'::regnamespace and c.relkind = 'r'
         and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'p')
      """;

  private static final String LEFTOVERS =
      """
      select (select count(*) from pgonce.notification n where n.subscription_id > 0)
           + (select count(*) from pgonce.scheduled s where s.subscription_id > 0)
           + (select count(*) from pgonce.delivery_key)
      """;

  private static Channel<String> keyed(String name, Mode mode) {
    var options =
        ChannelOptions.DEFAULT
            .withSubscriptions("default", "audit")
            .withOrder(KeyOrder.DEAD_LETTER_BLOCKS);
    return Channel.of(name, String.class, mode, options);
  }

  @Test
  void h73_eachTableThatHoldsRowsHasAPrimaryKey(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(WORK);
    assertThat(database.queryString(UNKEYED)).isNull();
  }

  enum Made {
    BEFORE_THE_INSTALLATION,
    WHILE_LISTENERS_RUN
  }

  @Tag("all")
  @ParameterizedTest
  @EnumSource(Made.class)
  void h73_everythingWorksUnderAPublicationForAllTables(Made made, TestDatabase database)
      throws Exception {
    if (made == Made.BEFORE_THE_INSTALLATION) {
      database.execute(PUBLICATION);
    }
    var handled = new CopyOnWriteArrayList<String>();
    Set<String> failed = ConcurrentHashMap.newKeySet();
    var pool = database.pooled(8);
    // What a drop has left is cleared each 150 poll intervals.
    var pgonce = PgOnce.builder(pool).pollInterval(Duration.ofMillis(20)).build();
    pgonce.install(WORK, LEASED, DOOMED);
    for (var channel : List.of(WORK, LEASED)) {
      for (var subscription : List.of("default", "audit")) {
        pgonce.listen(
            channel,
            subscription,
            QUICK,
            (text, tx) -> {
              var what = channel.name() + " " + subscription + " " + text.payload();
              if (text.payload().startsWith("retried") && failed.add(what)) {
                throw new IllegalStateException("not yet");
              }
              handled.add(what);
            });
      }
    }
    try (pgonce) {
      pgonce.start();
      if (made == Made.WHILE_LISTENERS_RUN) {
        database.execute(PUBLICATION);
      }
      // A drop with leftovers: the look for them is what each poll begins with.
      leaveSomethingBehind(database);
      for (var channel : List.of("work", "leased")) {
        publish(database, channel, "new", "delivery_key => 'k1'");
        publish(database, channel, "retried", "order_key => 'o1'");
        publish(database, channel, "due", "delay => '300 ms'");
      }
      awaitHandled(handled, "new", "retried", "due");

      new OnCall(pool).pause(WORK, "a look at it");
      publish(database, "work", "paused", "delivery_key => 'k2'");
      new OnCall(pool).resume(WORK, "looked at");
      for (var subscription : List.of("default", "audit")) {
        var what = "work " + subscription + " paused";
        await(what).atMost(BOUND).until(() -> handled.contains(what));
      }
      await().atMost(BOUND).until(() -> database.queryLong(LEFTOVERS) == 0);
      assertThat(database.queryLong("select count(*) from pgonce.dead_letter")).isZero();
    }
  }

  private static void leaveSomethingBehind(TestDatabase database) throws SQLException {
    try (var publisher = database.dataSource().getConnection();
        var statement = publisher.createStatement()) {
      statement.execute("begin isolation level repeatable read; select count(*) from pg_class");
      new OnCall(database.dataSource()).drop(DOOMED, "not used");
      statement.execute(
          "select pgonce.publish_each('doomed', '[1, 2]', '[{\"delivery_key\": \"late\"}, {\"delay_us\": 3600000000}]')");
      statement.execute("commit");
    }
  }

  private static void publish(TestDatabase database, String channel, String text, String options)
      throws SQLException {
    database.execute("select pgonce.publish('%s', '\"%s\"', %s)".formatted(channel, text, options));
  }

  private static void awaitHandled(List<String> handled, String... texts) {
    for (var channel : List.of("work", "leased")) {
      for (var subscription : List.of("default", "audit")) {
        for (var text : texts) {
          var what = channel + " " + subscription + " " + text;
          await(what).atMost(BOUND).until(() -> handled.contains(what));
        }
      }
    }
  }
}
