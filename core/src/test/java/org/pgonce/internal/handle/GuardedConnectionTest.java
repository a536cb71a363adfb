package org.pgonce.internal.handle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.pgonce.internal.handle.ClaimedRow.swallow;

import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.PgjdbcNg;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What becomes of a handler's work when the handler has ended. */
@PgTest
class GuardedConnectionTest {

  @ParameterizedTest
  @EnumSource
  void h44_sealedWorkIsCommittedWithTheDeletion(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("INSERT INTO effect VALUES (1)");
      row.guard().seal();
      row.deleteAndCommit();
      assertThat(row.effects()).isEqualTo(1);
      assertThat(database.queryLong("SELECT count(*) FROM item")).isZero();
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_aHandlerThatUsesNoDatabaseSendsNothing(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source);
        var statement = row.handlers().createStatement()) {
      row.handlers().getMetaData().getDatabaseProductName();
      row.guard().seal();
      assertThat(statement.isClosed()).isTrue();
      assertThat(database.backends().running("pgonce_handler")).isEmpty();
      row.deleteAndCommit();
    }
  }

  @ParameterizedTest
  @EnumSource
  void h43_swallowedSqlErrorIsAFailure(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("INSERT INTO effect VALUES (1)");
      swallow(() -> row.handle("INSERT INTO effect VALUES (1)"));
      swallow(() -> row.handle("SELECT 1"));

      assertThatThrownBy(() -> row.guard().seal())
          .hasMessageContaining("channel \"item\", id 1")
          .hasMessageContaining("caught an SQLException and went on")
          .satisfies(
              e -> assertThat(((SQLException) e.getCause()).getSQLState()).isEqualTo("23505"))
          .extracting("SQLState")
          .isEqualTo("25P02");

      row.guard().undo();
      assertThat(row.claimableElsewhere()).isZero();
      row.deleteAndCommit();
      assertThat(row.effects()).isZero();
    }
  }

  @ParameterizedTest
  @EnumSource
  void h43_anErrorInASavepointOfTheHandlersOwnIsNoFailure(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("INSERT INTO effect VALUES (1)");
      var own = row.handlers().setSavepoint("own");
      swallow(() -> row.handle("INSERT INTO effect VALUES (1)"));
      row.handlers().rollback(own);
      var unnamed = row.handlers().setSavepoint();
      row.handle("INSERT INTO effect VALUES (2)");
      row.handlers().releaseSavepoint(unnamed);
      row.handle("SAVEPOINT again");
      swallow(() -> row.handle("INSERT INTO effect VALUES (1)"));
      row.handle("ROLLBACK TO SAVEPOINT again");
      row.guard().seal();
      row.deleteAndCommit();
      assertThat(row.effects()).isEqualTo(2);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"PGJDBC", "PGJDBC_NG"})
  void h43_anErrorThatSpeaksOfAnotherServersEndIsLikeAnyOther(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("SAVEPOINT own");
      swallow(() -> row.handle(END_OF_ANOTHER_SERVER));
      row.handle("ROLLBACK TO SAVEPOINT own");
      row.handle("INSERT INTO effect VALUES (1)");
      row.guard().seal();
      row.deleteAndCommit();
      assertThat(row.effects()).isEqualTo(1);
    }
  }

  @Test
  void h49_afterTheServersLastWordsNobodyWaitsForIt(TestDatabase database) throws Exception {
    try (var proxy = FaultProxy.to(database)) {
      var source = database.ngDataSource();
      source.setPortNumber(proxy.port());
      assertTimeoutPreemptively(
          Duration.ofSeconds(10),
          () -> {
            try (var row = ClaimedRow.in(database, source);
                var leftOpen = row.handlers().createStatement()) {
              leftOpen.setFetchSize(1);
              leftOpen.executeQuery("SELECT generate_series(1, 3)").next();
              swallow(() -> row.handle(END_OF_ANOTHER_SERVER));
              proxy.silence();
              assertThatThrownBy(() -> row.guard().undo()).isInstanceOf(SQLException.class);
              LostConnection.abandon(row.real()); // as the owner does
            }
          });
    }
  }

  private static final String END_OF_ANOTHER_SERVER =
      "DO $$ BEGIN RAISE 'terminating connection' USING ERRCODE = '57P01'; END $$";

  @ParameterizedTest
  @EnumSource
  void h43_undoKeepsTheRowLock(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("INSERT INTO effect VALUES (1)");
      row.handle("SET LOCAL search_path = nowhere");
      row.guard().undo();
      assertThat(row.claimableElsewhere()).as("claimable elsewhere after undo").isZero();
      row.deleteAndCommit();
      assertThat(row.effects()).isZero();
      assertThat(database.queryLong("SELECT count(*) FROM item")).isZero();
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_aTransactionThatIsAnotherOneIsAFailure(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("INSERT INTO effect VALUES (1)");
      row.real().commit(); // past the guard, as only code with the raw connection can
      row.real().createStatement().execute("SELECT 1");
      assertThatThrownBy(() -> row.guard().seal())
          .hasMessageContaining("ended the transaction that it was given")
          .extracting("SQLState")
          .isEqualTo("3B001");
      assertThatThrownBy(() -> row.guard().undo()).isInstanceOf(SQLException.class);
      row.real().rollback();
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_sealedWorkIsNotUndoneAlone(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("INSERT INTO effect VALUES (1)");
      row.guard().seal();
      assertThatThrownBy(() -> row.guard().undo())
          .hasMessageContaining("roll the transaction back");
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_aLocalRoleDoesNotSettle(Source source, TestDatabase database) throws Exception {
    var tenant = database.loginRole("tenant").user();
    try (var row = ClaimedRow.in(database, source)) {
      database.execute("GRANT INSERT ON effect TO \"" + tenant + '"');
      row.handle("SET LOCAL ROLE \"" + tenant + '"');
      row.handle("INSERT INTO effect VALUES (1)");
      assertThatThrownBy(
              () -> {
                row.handlers().setSavepoint("s");
                row.handle("DELETE FROM item");
              })
          .hasMessageContaining("permission denied");
      row.handle("ROLLBACK TO s");
      row.guard().seal();
      row.deleteAndCommit();
      assertThat(row.effects()).isEqualTo(1);
      try (var role = row.real().createStatement().executeQuery("SELECT current_setting('role')")) {
        role.next();
        assertThat(role.getString(1)).isEqualTo("none");
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void claimHandlerAndDeletionMakeNoMultiXact(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      long before = nextMultiXact(database);
      row.handle("INSERT INTO effect VALUES (1)");
      row.handle("UPDATE effect SET id = 2");
      row.guard().seal();
      row.deleteAndCommit();
      assertThat(nextMultiXact(database)).as("after seal").isEqualTo(before);
    }
  }

  @ParameterizedTest
  @EnumSource
  void undoAndRecordingTheFailureMakeNoMultiXact(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      long before = nextMultiXact(database);
      row.handle("INSERT INTO effect VALUES (1)");
      row.guard().undo();
      row.deleteAndCommit();
      assertThat(nextMultiXact(database)).as("after undo").isEqualTo(before);
    }
  }

  @ParameterizedTest
  @EnumSource
  void ablation_deletedInsideTheSavepointTheRowGetsAMultiXact(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      long before = nextMultiXact(database);
      row.handle("INSERT INTO effect VALUES (1)");
      row.deleteAndCommit(); // without seal()
      assertThat(nextMultiXact(database)).isGreaterThan(before);
    }
  }

  @ParameterizedTest
  @EnumSource
  void h45_anInterruptedThreadStillUndoes(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("INSERT INTO effect VALUES (1)");
      var other = HandlerThread.running(() -> row.handle("SELECT pg_sleep(0.1)"));
      database.backends().awaitRunning("pg_sleep(0.1)");
      Thread.currentThread().interrupt();
      try {
        row.guard().undo();
      } finally {
        // pgjdbc-ng clears the flag itself, in each of its calls.
        assertThat(Thread.interrupted() || PgjdbcNg.made(row.real()))
            .as("still interrupted")
            .isTrue();
      }
      assertThat(other.failure()).isNull();
      row.deleteAndCommit();
      assertThat(row.effects()).isZero();
    }
  }

  private static long nextMultiXact(TestDatabase database) throws SQLException {
    return database.queryLong("SELECT mxid_age('1'::xid)");
  }
}
