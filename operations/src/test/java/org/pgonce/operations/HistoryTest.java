package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.operations.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.History;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.operations.HistoryEntry.Outcome;
import org.pgonce.operations.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What was handled, to be asked for. */
@PgTest(PgOnceInstalled.class)
@Tag("versions")
class HistoryTest {

  private static final Channel<Order> MAILS =
      Channel.of(
          "mails",
          Order.class,
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT.withHistory(History.of(Duration.ofDays(7)).withPayloads()));

  private Stage stage;
  private Operations operations;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    operations = Operations.over(stage.dataSource);
    PgOnce.using(stage.dataSource).install(MAILS);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private void handle(int count) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      for (var id = 1; id <= count; id++) {
        Publisher.standard()
            .publish(
                connection,
                MAILS,
                new Order(id, "item"),
                PublishOptions.DEFAULT.withDeliveryKey("mail:" + id));
      }
    }
    stage.pgonce().listen(MAILS, QUICK, Stage::effect).start();
    stage.awaitSoon(() -> stage.waiting() == 0);
  }

  /** Was the mail sent, when, by whom, how long did it take? */
  @Test
  void example_itIsReadByKeyAndByTime() throws Exception {
    handle(3);
    var sent = operations.history(MAILS, HistoryQuery.latest(10).withDeliveryKey("mail:2")).get(0);
    assertThat(sent.outcome()).isEqualTo(Outcome.HANDLED);
    assertThat(sent.handledAt()).isAfterOrEqualTo(sent.claimedAt());
    assertThat(sent.claimedAt()).isAfterOrEqualTo(sent.storedAt());
    assertThat(sent.took()).isPositive().isLessThan(Stage.SOON);
    assertThat(sent.attempts()).isOne();
    assertThat(sent.instance()).isEqualTo("pid " + ProcessHandle.current().pid());
    assertThat(sent.payload()).isNull();
    var since = HistoryQuery.latest(10).since(sent.storedAt());
    assertThat(operations.history(MAILS, since)).hasSize(3).contains(sent);
    assertThat(operations.history(MAILS, since.before(sent.storedAt()))).isEmpty();
    assertThat(operations.history(MAILS, since.withPayloads()))
        .allSatisfy(one -> assertThat(one.payload()).contains("item"));
  }

  @Test
  void history_isReadPageByPage() throws Exception {
    handle(25);
    var all = new ArrayList<Long>();
    var query = HistoryQuery.latest(10);
    for (var page = operations.history(MAILS, query);
        !page.isEmpty();
        page = operations.history(MAILS, query)) {
      page.forEach(entry -> all.add(entry.id()));
      query = query.behind(page.get(page.size() - 1));
    }
    assertThat(all).hasSize(25).doesNotHaveDuplicates();
  }

  @Test
  void explain_saysWhenAndByWhomItWasHandledWhereTheHistoryHasIt() throws Exception {
    handle(1);
    var entry = operations.history(MAILS, HistoryQuery.latest(1)).get(0);
    var answer = operations.explain(MAILS, entry.id()).get(0);
    assertThat(answer.cause()).isEqualTo(Cause.HANDLED);
    assertThat(answer.since()).isEqualTo(entry.handledAt());
    assertThat(answer.instance()).isEqualTo(entry.instance());
    assertThat(answer.detail())
        .startsWith("handled at attempt 1 by instance 'pid ")
        .endsWith(" ms");
    stage.database.execute("update pgonce.handled set skipped = true");
    assertThat(operations.explain(MAILS, entry.id()).get(0).detail()).startsWith("skipped");
    // Beyond its time it is not known any more.
    stage.database.execute("update pgonce.handled set handled_at = handled_at - interval '8 days'");
    assertThat(operations.explain(MAILS, entry.id()).get(0).cause()).isEqualTo(Cause.DONE_OR_NEVER);
    assertThat(operations.history(MAILS, HistoryQuery.latest(1))).isEmpty();
  }

  @Test
  void explain_saysWhenTheLastWasStoredAndHandledWhereNothingWaits() throws Exception {
    assertThat(operations.explain(MAILS).get(0).detail())
        .startsWith("nothing waits; no process listens")
        .contains("; the channel's history of 7 days has none; the last id");
    handle(2);
    assertThat(operations.explain(MAILS).get(0).detail())
        .contains("; 1 listeners are alive, with ")
        .contains(" workers; the one handled last was stored at 2")
        .contains(", and handled at 2")
        .contains("by instance 'pid " + ProcessHandle.current().pid() + "'")
        .endsWith("; the last id that any channel was given is 2");
  }

  @Test
  void history_ofAChannelWithoutOneIsEmptyAndOfNoneIsAnError() {
    assertThat(operations.history(Stage.ORDERS, HistoryQuery.latest(1))).isEmpty();
    var nowhere = Channel.of("nowhere", Order.class);
    assertThatThrownBy(() -> operations.history(nowhere, HistoryQuery.latest(1)))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("not installed");
    for (var limit : List.of(0, 100_001)) {
      assertThatThrownBy(() -> HistoryQuery.latest(limit))
          .isInstanceOf(IllegalArgumentException.class);
    }
    assertThat(operations.history(MAILS, HistoryQuery.latest(1).since(Instant.EPOCH))).isEmpty();
    for (var beyond : List.of(Instant.MIN, Instant.parse("0000-12-31T23:59:59Z"), Instant.MAX)) {
      assertThatThrownBy(() -> HistoryQuery.latest(1).since(beyond))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("since " + beyond)
          .hasMessageContaining("years 1 to 9999")
          .hasMessageContaining("leave it out");
      assertThatThrownBy(() -> HistoryQuery.latest(1).before(beyond))
          .hasMessageContaining("before " + beyond);
    }
    for (var edge : List.of("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z")) {
      var query = HistoryQuery.latest(1).since(Instant.parse(edge));
      assertThat(operations.history(MAILS, query)).isEmpty();
    }
  }
}
