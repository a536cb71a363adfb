package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.pgonce.Backoff;
import org.pgonce.ChannelOptions;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Rows in, one notification each out: the shortest way through a trigger channel. */
@PgTest(PgOnceInstalled.class)
class TriggerChannelTest {

  record Author(long id, String name) {}

  static final TriggerChannel<Author> AUTHOR_ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  private static final String TABLES =
      """
      create table author (id bigint generated always as identity primary key, name text not null);
      create table post (author_id bigint not null, content text not null)
      """;

  @Test
  void s01_everyNewAuthorGetsOneFirstPost(TestDatabase database) throws Exception {
    database.execute(TABLES);
    try (var pgonce = PgOnce.using(database.pooled(8))) {
      pgonce.install(AUTHOR_ADDED);
      pgonce.listen(
          AUTHOR_ADDED,
          (added, tx) ->
              tx.update(
                  "insert into post (author_id, content) values (?, ?)",
                  added.payload().id(),
                  "Welcome, " + added.payload().name() + "!"));
      pgonce.start();

      database.execute(
          "insert into author (name) select 'author ' || g from generate_series(1, 100) g");

      await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(
              () -> assertThat(database.queryLong("select count(*) from post")).isEqualTo(100));
      assertThat(
              database.queryLong(
                  """
                  select count(*) from author a join post p on p.author_id = a.id
                   where p.content = 'Welcome, ' || a.name || '!'
                  """))
          .isEqualTo(100);
    }
  }

  /** The welcome is broken, the audit is not: each has its own row of each author. */
  @Test
  void h52_oneOfTwoSubscriptionsFailsAndTheOtherIsDoneOnce(TestDatabase database) throws Exception {
    database.execute(TABLES);
    var channel =
        TriggerChannel.on("author", Author.class)
            .afterInsert()
            .options(ChannelOptions.DEFAULT.withSubscriptions("welcome", "audit"))
            .build();
    var options =
        ListenOptions.DEFAULT
            .withMaxAttempts(3)
            .withBackoff(new Backoff(Duration.ofMillis(20), Duration.ofMillis(50)));
    var broken = new CountDownLatch(1);
    var calls = new CopyOnWriteArrayList<String>();
    try (var pgonce = PgOnce.using(database.pooled(8))) {
      pgonce.install(channel);
      pgonce
          .listen(
              channel,
              "welcome",
              options,
              (added, tx) -> {
                calls.add("welcome " + added.payload().name() + " " + added.attempt());
                tx.update("insert into post values (?, 'welcome')", added.payload().id());
                if (added.payload().name().equals("Bob") && broken.getCount() > 0) {
                  throw new IllegalStateException("no greeting for Bob");
                }
              })
          .listen(
              channel,
              "audit",
              options,
              (added, tx) -> {
                calls.add("audit " + added.payload().name() + " " + added.attempt());
                tx.update("insert into post values (?, 'audit')", added.payload().id());
              })
          .start();
      database.execute("insert into author (name) values ('Ann'), ('Bob')");
      await().atMost(Duration.ofSeconds(30)).until(() -> posts(database) == 3);
      await()
          .atMost(Duration.ofSeconds(30))
          .until(
              () ->
                  "welcome 3"
                      .equals(
                          database.queryString(
                              "select string_agg(concat_ws(' ', subscription, attempts), ', ') from pgonce.dead_letter_status")));
      assertThat(calls)
          .containsExactlyInAnyOrder(
              "audit Ann 1",
              "audit Bob 1",
              "welcome Ann 1",
              "welcome Bob 1",
              "welcome Bob 2",
              "welcome Bob 3");

      calls.clear();
      broken.countDown();
      assertThat(OnCall.letters(database, "redrive", channel)).isEqualTo(1);
      await().atMost(Duration.ofSeconds(30)).until(() -> posts(database) == 4);
      assertThat(calls).containsExactly("welcome Bob 1");
    }
  }

  private static long posts(TestDatabase database) throws SQLException {
    return database.queryLong("select count(*) from post");
  }

  @Test
  void s02_broadcastStoresNothingAndReachesWhoIsUp(TestDatabase database) throws Exception {
    database.execute(TABLES);
    var channel =
        TriggerChannel.on("author", Author.class).afterInsert().mode(Mode.BROADCAST).build();
    var heard = new CopyOnWriteArrayList<Author>();
    try (var pgonce = PgOnce.using(database.pooled(8))) {
      pgonce.install(channel);
      database.execute("insert into author (name) values ('nobody is up')");
      pgonce.listen(channel, (added, tx) -> heard.add(added.payload())).start();

      database.execute("insert into author (name) values ('Ann'), ('Bob')");

      await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(
              () ->
                  assertThat(heard)
                      .containsExactlyInAnyOrder(new Author(2, "Ann"), new Author(3, "Bob")));
      assertThat(
              database.queryLong(
                  "select count(*) from pgonce.notification where subscription_id > 0"))
          .isZero();
    }
  }
}
