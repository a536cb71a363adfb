package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A JVM whose language writes numbers in digits that PostgreSQL does not know. */
@PgTest(PgOnceInstalled.class)
class LocaleTest {

  private static final Duration BOUND = Duration.ofSeconds(60);

  record Item(long id, long box) {}

  private static final TriggerChannel<Item> ITEMS =
      TriggerChannel.on("item", Item.class)
          .afterInsert()
          .deliveryKey("id", "box")
          .dueAfter(Duration.ofMillis(1_500))
          .build();

  private static final Channel<String> PLAIN =
      Channel.of(
          "plain",
          String.class,
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT
              .withOrder(KeyOrder.DEAD_LETTER_BLOCKS)
              .withMaxDepth(7)
              .withMaxRate(1_000));

  /** Installs, writes and handles. */
  static final class Service {
    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      Locale.setDefault(Locale.forLanguageTag(arguments[2]));
      var handled = new CountDownLatch(2);
      try (var pool = new HikariDataSource()) {
        pool.setJdbcUrl(arguments[0]);
        pool.setUsername(arguments[1]);
        try (var pgonce = PgOnce.using(pool)) {
          pgonce.install(ITEMS, PLAIN);
          pgonce.listen(ITEMS, (item, tx) -> handled.countDown());
          pgonce.listen(PLAIN, (text, tx) -> handled.countDown());
          pgonce.start();
          try (var connection = pool.getConnection();
              var statement = connection.createStatement()) {
            statement.execute("insert into item values (1, 2)");
            statement.execute("select pgonce.publish('plain', '\"text\"')");
          }
          System.out.println(
              "%d".formatted(128) + (handled.await(30, TimeUnit.SECONDS) ? " handled" : " lost"));
        }
      }
    }
  }

  @Test
  void h22_numbersInSqlAreThoseOfPostgresInEachLanguage(TestDatabase database) throws Exception {
    database.execute("create table item (id bigint primary key, box bigint not null)");
    try (var service =
        JvmProcess.start(Service.class, database.jdbcUrl(), database.user(), "ar-EG")) {
      assertThat(service.awaitLine("handled", BOUND)).doesNotContain("128");
    }
    try (var pgonce = PgOnce.using(database.dataSource())) {
      pgonce.listen(ITEMS, (item, tx) -> {});
      pgonce.listen(PLAIN, (text, tx) -> {});
      pgonce.start(); // the same definition to this one
    }
  }
}
