package org.pgonce.payload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestServer;

/** A database of encoding SQL_ASCII stores bytes that are no UTF-8, and cannot send them. */
@PgTest
@Tag("drivers")
class UnreadableTextTest {

  private static final Backoff AT_ONCE = new Backoff(Duration.ofMillis(1), Duration.ofMillis(1));

  @ParameterizedTest
  @CsvSource({"EXACTLY_ONCE, 1", "EXACTLY_ONCE, 10", "AT_LEAST_ONCE, 1"})
  void h46_textThatIsNoUtf8IsADeadLetterAndOthersFlow(Mode mode, int batch) throws Exception {
    var channel = Channel.of("news", String.class, mode);
    var heard = new CopyOnWriteArrayList<String>();
    try (var database = TestServer.shared().createDatabase("SQL_ASCII");
        var pgonce = PgOnce.using(database.pooled(8))) {
      pgonce.install(channel);
      database.execute(
          """
          select pgonce.publish('news', '"before"');
          select pgonce.publish('news', convert_from('\\x22e922', 'SQL_ASCII')::json);
          select pgonce.publish('news', '"b\u00e9hind"')
          """);
      pgonce
          .listen(
              channel,
              ListenOptions.DEFAULT.withMaxAttempts(2).withBackoff(AT_ONCE).withBatch(batch),
              (news, tx) -> heard.add(news.payload()))
          .start();
      await()
          .atMost(Stage.SOON)
          .untilAsserted(
              () -> {
                assertThat(heard).contains("before", "b\u00e9hind");
                assertThat(
                        database.queryString(
                            "select string_agg(concat_ws(' ', id, reason, attempts, error), ', ') from pgonce.dead_letter where subscription_id > 0"))
                    .startsWith("2 ATTEMPTS_USED_UP 2 ")
                    .contains("invalid byte sequence for encoding \"UTF8\"");
              });
    }
  }
}
