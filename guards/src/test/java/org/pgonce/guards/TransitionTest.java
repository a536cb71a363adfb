package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.util.Collections;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** S13: of several that take a row from one state to another, one wins. */
@PgTest
@Tag("drivers")
class TransitionTest {

  private static final Transition CAMPAIGN = Transition.of("campaign", "id", "state");

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    database.execute(
        "create table campaign (id bigint, state text); insert into campaign values (42, 'approved'), (43, 'draft')");
  }

  @Test
  void example_whoeverMovesItOnGoesOn(TestDatabase database) throws Exception {
    try (var pool = database.pooled(2);
        var connection = pool.getConnection()) {
      assertThat(CAMPAIGN.move(connection, 42L, "approved", "sending")).isTrue();
      assertThat(CAMPAIGN.move(connection, 42L, "approved", "sending")).isFalse();
      assertThat(CAMPAIGN.move(connection, 43L, "approved", "sending")).isFalse();
      assertThat(CAMPAIGN.move(connection, 44L, "approved", "sending")).isFalse();
    }
    assertThat(database.queryString("select string_agg(state, ',' order by id) from campaign"))
        .isEqualTo("sending,draft");
  }

  private enum State {
    APPROVED,
    SENDING
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void s13_statesMayBeAnEnumOfPostgresAndKeysUuids(boolean ng, TestDatabase database)
      throws Exception {
    database.execute("create type state as enum ('APPROVED', 'SENDING')");
    database.execute("create table lot (id uuid primary key, state state not null)");
    database.execute("insert into lot select gen_random_uuid(), 'APPROVED'");
    var id = database.queryString("select id::text from lot");
    var lot = Transition.of("lot", "id", "state");
    DataSource dataSource = ng ? database.ngDataSource() : database.dataSource();
    try (var connection = dataSource.getConnection()) {
      assertThat(lot.move(connection, id, "APPROVED", "SENDING")).isTrue();
      assertThat(lot.move(connection, UUID.fromString(id), State.SENDING, State.APPROVED)).isTrue();
      assertThat(lot.move(connection, id, State.SENDING, State.APPROVED)).isFalse();
      assertThatThrownBy(() -> lot.move(connection, id, State.APPROVED, "APPROVED"))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void s13_ofManyAtOnceOneWins(TestDatabase database) throws Exception {
    var threads = Executors.newFixedThreadPool(8);
    try (var pool = database.pooled(8)) {
      for (var round = 0; round < 20; round++) {
        database.execute("update campaign set state = 'approved' where id = 42");
        Callable<Boolean> tick =
            () -> {
              try (var connection = pool.getConnection()) {
                return CAMPAIGN.move(connection, 42L, "approved", "sending");
              }
            };
        var winners = 0;
        for (var one : threads.invokeAll(Collections.nCopies(8, tick))) {
          winners += one.get() ? 1 : 0;
        }
        assertThat(winners).isEqualTo(1);
      }
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void s13_whatCannotBeCompareAndSetIsRefused(TestDatabase database) throws Exception {
    for (var bad : new String[] {"", "a b", "a\"b", "1a", "a.b.c", "a;b", "x".repeat(64)}) {
      assertThatThrownBy(() -> Transition.of(bad, "id", "state"))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> Transition.of("campaign", bad, "state"))
          .isInstanceOf(IllegalArgumentException.class);
    }
    database.execute("update campaign set id = 42");
    try (var pool = database.pooled(2);
        var connection = pool.getConnection()) {
      assertThatThrownBy(() -> CAMPAIGN.move(connection, 42L, "sending", "sending"))
          .isInstanceOf(IllegalArgumentException.class);
      database.execute("update campaign set state = 'approved'");
      assertThatThrownBy(
              () ->
                  Transition.of("public.campaign", "id", "state")
                      .move(connection, 42L, "approved", "sending"))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("2 rows of table public.campaign have one key");
    }
  }
}
