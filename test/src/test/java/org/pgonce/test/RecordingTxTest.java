package org.pgonce.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PublishOptions;
import org.pgonce.Tx.Outcome;

@PgOnceTest
class RecordingTxTest {

  private static final Channel<Integer> ONE = Channel.of("one", Integer.class);
  private static final Channel<Integer> OTHER = Channel.of("other", Integer.class);

  @Test
  void api_recordsWhatIsPublished() {
    var tx = new RecordingTx();
    var key = PublishOptions.DEFAULT.withDeliveryKey("a");
    assertThat(tx.publish(ONE, 1)).isEqualTo(1);
    assertThat(tx.publish(ONE, 2, key).stored()).isTrue();
    var again = tx.publish(ONE, 3, key);
    assertThat(again.stored()).isFalse();
    assertThat(again.id()).isEqualTo(2);
    assertThat(tx.publish(OTHER, 4, key).stored()).isTrue();
    assertThat(tx.published(ONE)).containsExactly(1, 2);
    assertThat(tx.published())
        .containsExactly(
            new RecordingTx.Entry<>(ONE, 1, PublishOptions.DEFAULT),
            new RecordingTx.Entry<>(ONE, 2, key),
            new RecordingTx.Entry<>(OTHER, 4, key));
  }

  @Test
  void api_saysThatItHasNoDatabase() {
    var tx = new RecordingTx();
    assertThatThrownBy(() -> tx.update("delete from one"))
        .isInstanceOf(SQLException.class)
        .hasMessage(
            "this RecordingTx has no database: make it with a DataSource, new RecordingTx(dataSource), or test the handler with PgOnceTester.drain");
  }

  @Test
  void api_sqlIsRolledBack(PgOnceTester pgonce) throws Exception {
    pgonce.execute("create table seen (one int)");
    try (var tx = new RecordingTx(pgonce.dataSource())) {
      assertThat(tx.update("insert into seen values (?)", 1)).isEqualTo(1);
      assertThat(tx.query("select one from seen", row -> row.getInt(1))).containsExactly(1);
    }
    assertThat(pgonce.count("select count(*) from seen")).isZero();
  }

  @Test
  void api_runsWhatComesAfterTheOutcome() {
    List<Object> ran = new ArrayList<>();
    var tx = new RecordingTx();
    tx.afterCompletion(ran::add);
    tx.afterCommit(() -> ran.add("commit"));
    tx.complete(Outcome.COMMITTED);
    tx.complete(Outcome.ROLLED_BACK);
    assertThat(ran).containsExactly("commit", Outcome.COMMITTED, Outcome.ROLLED_BACK);
  }

  @Test
  void api_aNotificationForAUnitTest() {
    var one = RecordingTx.notification(ONE, 42);
    assertThat(one.payload()).isEqualTo(42);
    assertThat(one.channel()).isEqualTo("one");
    assertThat(one.subscription()).isEqualTo("default");
    assertThat(one.deliveryKey()).isEqualTo("one:test:1");
    assertThat(one.attempt()).isEqualTo(1);
    assertThat(one.context()).isEmpty();
  }
}
