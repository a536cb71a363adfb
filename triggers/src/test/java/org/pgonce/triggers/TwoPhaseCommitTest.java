package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.ChannelOptions;
import org.pgonce.PgOnce;
import org.pgonce.WakeUps;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * H11: a transaction that has notified cannot be prepared, which PostgreSQL says itself. One that
 * writes a watched table notifies.
 */
@PgTest(PgOnceInstalled.class)
class TwoPhaseCommitTest {

  record Row(int id) {}

  @BeforeEach
  void install(TestDatabase database) throws Exception {
    database.execute("create table thing (id int not null); create table other (id int not null)");
    PgOnce.using(database.dataSource())
        .install(TriggerChannel.on("thing", Row.class).afterInsert().build());
    database.execute(Ear.SOMEBODY_LISTENS);
  }

  @Test
  void h11_aWriterOfTheTableIsToldThatItCannotPrepareAndNothingOfItStays(TestDatabase database)
      throws Exception {
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute("insert into thing values (1)");
      assertThatThrownBy(() -> statement.execute("prepare transaction 'two phases'"))
          .hasMessageContaining(
              "cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY");
      connection.rollback();
    }
    assertThat(
            database.queryLong(
                "select (select count(*) from thing) + (select count(*) from pgonce.notification where subscription_id > 0)"))
        .isZero();
  }

  /** Of a channel that wakes nobody. */
  private enum Kind {
    PLAIN,
    DUE_LATER,
    KEYED,
    KEYED_AND_DUE_LATER;

    TriggerChannel<Row> channel() {
      var builder =
          TriggerChannel.on("other", Row.class)
              .named("quiet")
              .afterInsert()
              .options(ChannelOptions.DEFAULT.withWakeUps(WakeUps.NEVER));
      return switch (this) {
        case PLAIN -> builder.build();
        case DUE_LATER -> builder.dueAt("now() + interval '1 hour'").build();
        case KEYED -> builder.deliveryKey("id").build();
        case KEYED_AND_DUE_LATER ->
            builder.deliveryKey("id").dueAt("now() + interval '1 hour'").build();
      };
    }
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void h11_whereAChannelWakesNobodyWritersOfItsTableMayPrepare(Kind kind, TestDatabase database)
      throws Exception {
    var channel = kind.channel();
    PgOnce.using(database.dataSource()).install(channel);
    try (var ear = new Ear(database, channel);
        var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute("insert into other values (1), (2)");
      statement.execute("prepare transaction 'quiet'");
      connection.setAutoCommit(true);
      statement.execute("commit prepared 'quiet'");
      assertThat(ear.take()).isEmpty();
    }
    assertThat(
            database.queryLong(
                "select (select count(*) from pgonce.notification where subscription_id > 0) + (select count(*) from pgonce.scheduled where subscription_id > 0)"))
        .isEqualTo(2);
  }

  @Test
  void h11_whoWritesOtherTablesMayPrepare(TestDatabase database) throws Exception {
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute("insert into other values (1)");
      statement.execute("prepare transaction 'of others'");
      connection.setAutoCommit(true);
      statement.execute("commit prepared 'of others'");
    }
    assertThat(database.queryLong("select count(*) from other")).isOne();
  }
}
