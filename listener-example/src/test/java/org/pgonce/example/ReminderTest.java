package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.DeliveryKey;
import org.pgonce.Handler;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The reminder of docs/channels.md, which quotes what is between the marks. */
@PgTest
class ReminderTest {

  record Reminder(long orderId) {}

  private static final Channel<Reminder> REMINDERS = Channel.of("reminders", Reminder.class);

  private final Queue<Long> mails = new ConcurrentLinkedQueue<>();

  private void mail(Reminder reminder) {
    mails.add(reminder.orderId());
  }

  // quoted: reminder
  void remind(PgOnce pgonce, Connection connection, long order) throws SQLException {
    pgonce
        .publisher()
        .publish(
            connection,
            REMINDERS,
            new Reminder(order),
            PublishOptions.DEFAULT
                .withDelay(Duration.ofHours(6))
                .withDeliveryKey(DeliveryKey.of("reminder", String.valueOf(order))));
  }

  void listen(PgOnce pgonce) {
    pgonce.listen(
        REMINDERS,
        Handler.onlyIf(
            (reminder, tx) ->
                !tx.query(
                        "select 1 from orders where id = ? and paid_at is null for share",
                        row -> true,
                        reminder.payload().orderId())
                    .isEmpty(),
            (reminder, tx) -> mail(reminder.payload())));
  }

  // end

  @Test
  void example_whatIsPaidIsNotRemindedOf(TestDatabase database) throws Exception {
    database.execute("create table orders (id bigint primary key, paid_at timestamptz)");
    database.execute("insert into orders values (1, null), (2, null), (3, null)");
    try (var pool = database.pooled(8);
        var pgonce = PgOnce.using(pool)) {
      pgonce.install(REMINDERS);
      try (var connection = pool.getConnection()) {
        for (var order : List.of(1L, 2L, 3L)) {
          remind(pgonce, connection, order);
        }
      }
      database.execute("update orders set paid_at = now() where id = 2");
      var cancel =
          "select concat_ws(' ', cancelled, being_handled) from pgonce.cancel('reminders', NULL, ARRAY['%s'], 'paid')"
              .formatted(DeliveryKey.of("reminder", "3"));
      var service = database.loginRole("service", "pgonce_publisher", "pgonce_listener");
      try (var connection = service.dataSource().getConnection();
          var statement = connection.createStatement()) {
        assertThatThrownBy(() -> statement.execute(cancel))
            .hasMessageContaining("permission denied");
      }
      assertThat(database.queryString(cancel)).isEqualTo("1 0");
      listen(pgonce);
      pgonce.start();
      database.execute(
          "select pgonce.retry_now('reminders', array_agg(id), 'the time has come') from pgonce.scheduled");
      await()
          .atMost(Duration.ofSeconds(60))
          .until(
              () ->
                  database.queryLong("select sum(backlog + scheduled) from pgonce.channel_status")
                      == 0);
      assertThat(mails).containsExactly(1L);
    }
  }

  @Test
  void api_thePageShowsWhatRuns() throws Exception {
    var file = Path.of("src/test/java/org/pgonce/example/ReminderTest.java");
    var quoted =
        Pattern.compile("(?s) *// quoted: reminder\n(.*?)\\s*// end\n")
            .matcher(Files.readString(file));
    assertThat(quoted.find()).isTrue();
    var code = quoted.group(1).stripIndent() + "\n";
    var path = Path.of("../docs/channels.md");
    var page = Files.readString(path);
    var block = Pattern.compile("(?s)<!-- reminder -->\n\n```java\n(.*?)```\n").matcher(page);
    assertThat(block.find()).isTrue();
    if (Boolean.getBoolean("pgonce.texts.write")) {
      Files.writeString(
          path, page.substring(0, block.start(1)) + code + page.substring(block.end(1)));
    } else {
      assertThat(block.group(1)).isEqualTo(code);
    }
  }
}
