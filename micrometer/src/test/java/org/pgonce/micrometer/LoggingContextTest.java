package org.pgonce.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.slf4j.MDC;

/** What is in the MDC while a handler runs, and after it. */
@PgTest(PgOnceInstalled.class)
class LoggingContextTest {

  private static final Channel<String> MAILS = Channel.of("mails", String.class);

  private final Queue<Map<String, String>> within = new ConcurrentLinkedQueue<>();
  private final Queue<Map<String, String>> after = new ConcurrentLinkedQueue<>();
  private Stage stage;
  private PgOnce pgonce;

  @BeforeEach
  void setUp(TestDatabase database) {
    stage = new Stage(database);
    HandlerInterceptor outer =
        call -> {
          MDC.put("pgonce.channel", "set before");
          MDC.put("request", "kept");
          try {
            call.proceed();
          } finally {
            after.add(new HashMap<>(MDC.getCopyOfContextMap()));
            MDC.clear();
          }
        };
    pgonce = stage.open(stage.builder().interceptors(outer, new LoggingContext()).build());
    pgonce.install(MAILS);
  }

  @AfterEach
  void tearDown() throws Exception {
    stage.close();
  }

  private void publish(String payload, PublishOptions options) throws Exception {
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, MAILS, payload, options);
    }
  }

  @Test
  void example_eachLineOfAHandlerSaysWhichNotificationItIs() throws Exception {
    pgonce.listen(MAILS, (mail, tx) -> within.add(MDC.getCopyOfContextMap())).start();
    publish("hello", PublishOptions.DEFAULT.withDeliveryKey("mail 1"));
    stage.awaitSoon(() -> after.size() == 1);
    assertThat(within.remove())
        .containsOnly(
            entry("pgonce.channel", "mails"),
            entry("pgonce.subscription", "default"),
            entry("pgonce.id", "1"),
            entry("pgonce.attempt", "1"),
            entry("pgonce.delivery_key", "mail 1"),
            entry("request", "kept"));
    assertThat(after.remove())
        .containsOnly(entry("pgonce.channel", "set before"), entry("request", "kept"));
  }

  @Test
  void aFailureRestoresItToo() throws Exception {
    pgonce.listen(
        MAILS,
        Stage.QUICK,
        (mail, tx) -> {
          within.add(MDC.getCopyOfContextMap());
          throw new IllegalStateException("no");
        });
    pgonce.start();
    publish("hello", PublishOptions.DEFAULT);
    stage.awaitSoon(() -> after.size() == 2);
    assertThat(within).extracting(one -> one.get("pgonce.attempt")).containsExactly("1", "2");
    assertThat(after)
        .allSatisfy(
            one ->
                assertThat(one)
                    .containsOnly(entry("pgonce.channel", "set before"), entry("request", "kept")));
  }

  @Test
  void aBatchSaysHowManyTheyAre() throws Exception {
    for (var one : List.of("a", "b")) {
      publish(one, PublishOptions.DEFAULT);
    }
    pgonce
        .listen(
            MAILS,
            Stage.QUICK.withBatch(10),
            Handler.batch((list, tx) -> within.add(MDC.getCopyOfContextMap())))
        .start();
    stage.awaitSoon(() -> after.size() == 1);
    assertThat(within.remove()).containsEntry("pgonce.batch", "2").doesNotContainKey("pgonce.id");
  }
}
