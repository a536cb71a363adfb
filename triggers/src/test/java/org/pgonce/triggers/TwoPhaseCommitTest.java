package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
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
