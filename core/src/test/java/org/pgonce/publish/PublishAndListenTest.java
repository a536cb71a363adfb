package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.stage.OnCall;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/** A channel that code publishes to: the shortest way through the library. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class PublishAndListenTest {

  record Greeting(long id, String text) {}

  static final Channel<Greeting> GREETINGS = Channel.of("greetings", Greeting.class);

  @Test
  void example_publishInYourTransactionAndHandleOnce(TestDatabase database) throws Exception {
    database.execute("create table heard (id bigint, words text)");
    var dataSource = database.pooled(8);
    try (var pgonce = PgOnce.using(dataSource)) {
      pgonce.install(GREETINGS);
      pgonce.listen(
          GREETINGS,
          (greeting, tx) ->
              tx.update(
                  "insert into heard values (?, ?)",
                  greeting.payload().id(),
                  greeting.payload().text()));
      pgonce.start();

      try (var connection = dataSource.getConnection()) {
        pgonce.publisher().publish(connection, GREETINGS, new Greeting(1, "hello"));
        pgonce
            .publisher()
            .publishAll(
                connection, GREETINGS, List.of(new Greeting(2, "again"), new Greeting(3, "again")));
      }

      await()
          .atMost(Stage.SOON)
          .untilAsserted(
              () ->
                  assertThat(
                          database.queryString(
                              "select string_agg(words, ',' order by id) from heard"))
                      .isEqualTo("hello,again,again"));
      await()
          .atMost(Stage.SOON)
          .until(
              () ->
                  database.queryLong(
                          "select count(*) from pgonce.notification where subscription_id > 0")
                      == 0);
    }
  }

  @Test
  void s12_theDeliveryKeyStaysThroughAttemptsAndRedrivesAndEndsWithTheInstallation(
      TestDatabase database) throws Exception {
    var keys = new CopyOnWriteArrayList<String>();
    var ids = new CopyOnWriteArrayList<Long>();
    var dataSource = database.pooled(8);
    for (var installation = 1; installation <= 2; installation++) {
      try (var pgonce = PgOnce.using(dataSource)) {
        pgonce.install(GREETINGS);
        pgonce
            .listen(
                GREETINGS,
                Stage.QUICK.withMaxAttempts(2),
                (greeting, tx) -> {
                  keys.add(greeting.deliveryKey());
                  ids.add(greeting.id());
                  throw new IllegalStateException("not yet");
                })
            .start();
        try (var connection = dataSource.getConnection()) {
          pgonce.publisher().publish(connection, GREETINGS, new Greeting(1, "hello"));
        }
        for (var life = 1; life <= 2; life++) {
          await()
              .atMost(Stage.SOON)
              .until(() -> database.queryLong("select count(*) from pgonce.dead_letter") == 1);
          new OnCall(dataSource).redrive(GREETINGS);
        }
        await()
            .atMost(Stage.SOON)
            .until(
                () ->
                    database.queryLong(
                            "select count(*) from pgonce.scheduled where subscription_id > 0")
                        == 0);
      }
      database.execute("drop schema pgonce cascade");
    }
    assertThat(ids).containsOnly(1L).hasSizeGreaterThanOrEqualTo(8);
    assertThat(Set.copyOf(keys)).hasSize(2).allMatch(key -> key.matches("greetings:[0-9a-f]{8}:1"));
  }

  @Test
  void api_theBuilderDoesNotReachWhatItHasBuilt(TestDatabase database) throws Exception {
    var heard = new CopyOnWriteArrayList<Greeting>();
    var dataSource = database.pooled(8);
    var builder = PgOnce.builder(dataSource);
    try (var pgonce = builder.build()) {
      builder
          .codec(
              new PayloadCodec() {
                @Override
                public <T> String encode(T payload, Class<T> type) {
                  throw new AssertionError("not this one");
                }

                @Override
                public <T> T decode(String json, Class<T> type) {
                  throw new AssertionError("not this one");
                }
              })
          .wakeUpBy();
      pgonce.install(GREETINGS).listen(GREETINGS, (one, tx) -> heard.add(one.payload())).start();
      assertThat(pgonce.status().listensBy()).isNotEqualTo("polling");
      try (var connection = dataSource.getConnection()) {
        pgonce.publisher().publish(connection, GREETINGS, new Greeting(1, "hello"));
      }
      await().atMost(Stage.SOON).until(() -> heard.size() == 1);
    }
  }

  @Test
  void s02_broadcastReachesEveryListenerThatIsUp(TestDatabase database) throws Exception {
    var channel = Channel.of("news", String.class, Mode.BROADCAST);
    var heard = new CopyOnWriteArrayList<String>();
    var long5000 = "ä".repeat(50_000);
    var dataSource = database.pooled(8);
    try (var one = PgOnce.using(dataSource);
        var two = PgOnce.using(dataSource)) {
      one.install(channel);
      one.listen(channel, (news, tx) -> heard.add("one " + news.payload())).start();
      two.listen(channel, (news, tx) -> heard.add("two " + news.payload())).start();
      try (var connection = dataSource.getConnection()) {
        one.publisher().publish(connection, channel, "a");
        one.publisher().publish(connection, channel, long5000);
      }
      await()
          .atMost(Stage.SOON)
          .untilAsserted(
              () ->
                  assertThat(heard)
                      .containsExactlyInAnyOrder(
                          "one a", "two a", "one " + long5000, "two " + long5000));
    }
  }

  /** Its server takes each byte for a character, and would cut one in two. */
  @Test
  void h77_aBroadcastOfManyPartsArrivesInADatabaseWithoutEncoding() throws Exception {
    var channel = Channel.of("news", String.class, Mode.BROADCAST);
    var heard = new CopyOnWriteArrayList<String>();
    var sent =
        IntStream.range(0, 4).mapToObj(n -> "x".repeat(n) + "\uD83D\uDE00".repeat(5_000)).toList();
    try (var database = TestServer.shared().createDatabase("SQL_ASCII");
        var pgonce = PgOnce.using(database.pooled(8))) {
      pgonce.install(channel);
      pgonce.listen(channel, (news, tx) -> heard.add(news.payload())).start();
      try (var connection = database.dataSource().getConnection()) {
        pgonce.publisher().publishAll(connection, channel, sent);
      }
      await()
          .atMost(Stage.SOON)
          .untilAsserted(() -> assertThat(heard).containsExactlyInAnyOrderElementsOf(sent));
    }
  }
}
