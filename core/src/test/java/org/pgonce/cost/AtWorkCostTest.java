package org.pgonce.cost;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * What a look at pgonce.at_work costs beside many channels, in rows that the server reads of the
 * tables where notifications wait.
 */
@PgTest(PgOnceInstalled.class)
@Tag("versions")
class AtWorkCostTest {

  private static final int CHANNELS = 100;
  private static final int WAITING = 200;

  /** How many of the first rows of each channel tell whether something of it is at work. */
  private static final int FIRST = 20;

  private static final String ALL = "select id from pgonce.at_work order by id";
  private static final String OF_CHANNEL_7 =
      "select id from pgonce.at_work where channel = 'channel_7' order by id";

  private TestDatabase database;
  private final List<Connection> holders = new ArrayList<>();

  /** The ids that were found, and how many rows were read for it. */
  private record Look(List<Long> ids, long read) {}

  @BeforeEach
  void fill(TestDatabase database) throws SQLException {
    this.database = database;
    database.execute(
        """
        select pgonce.install_channel('channel_' || i, 'EXACTLY_ONCE', 'published') from generate_series(1, %1$d) i;
        insert into pgonce.notification (subscription_id, payload)
        select s.id, '1' from pgonce.subscription s, generate_series(1, %2$d) where s.of_channel like 'channel_%%';
        analyze pgonce.notification
        """
            .formatted(CHANNELS, WAITING));
  }

  @AfterEach
  void end() throws SQLException {
    for (var holder : holders) {
      holder.rollback();
      holder.close();
    }
  }

  /** Locks the row of that place in its channel's line; returns its id. */
  private long hold(int channel, int place) throws SQLException {
    var id =
        database.queryLong(
            "select n.id from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id where s.of_channel = 'channel_%d' order by n.id offset %d limit 1"
                .formatted(channel, place));
    var holder = database.dataSource().getConnection();
    holders.add(holder);
    holder.setAutoCommit(false);
    try (var statement = holder.createStatement()) {
      statement.execute(
          "select from pgonce.notification where subscription_id > 0 and id = "
              + id
              + " for update skip locked");
    }
    return id;
  }

  private Look look(String sql) throws SQLException {
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      var ids = new ArrayList<Long>();
      try (var rows = statement.executeQuery(sql)) {
        while (rows.next()) {
          ids.add(rows.getLong(1));
        }
      }
      try (var row =
          statement.executeQuery(
              "select sum(seq_tup_read + idx_tup_fetch) from pg_stat_xact_all_tables where schemaname = 'pgonce' and relname in ('notification', 'scheduled')")) {
        row.next();
        return new Look(ids, row.getLong(1));
      } finally {
        connection.rollback();
      }
    }
  }

  @Test
  void whereNothingIsAtWorkNoRowIsRead() throws Exception {
    assertThat(look(ALL)).isEqualTo(new Look(List.of(), 0));
    assertThat(look(OF_CHANNEL_7)).isEqualTo(new Look(List.of(), 0));
  }

  @Test
  void ofOtherChannelsOnlyTheFirstRowsAreRead() throws Exception {
    var id = hold(7, 0);
    var all = look(ALL);
    assertThat(all.ids()).containsExactly(id);
    assertThat(all.read()).isBetween(1L, CHANNELS * FIRST + 2L * WAITING);
    assertThat(look(OF_CHANNEL_7)).isEqualTo(all);
  }

  /** More than the first rows of a channel, each by a transaction of its own. */
  @Test
  void howManyAreAtWorkCostsNothing() throws Exception {
    var ids = new ArrayList<Long>();
    for (var i = 0; i < FIRST + 5; i++) {
      ids.add(hold(7, i));
    }
    var all = look(ALL);
    assertThat(all.ids()).isEqualTo(ids);
    assertThat(all.read()).isLessThanOrEqualTo(CHANNELS * FIRST + 2L * WAITING);
  }

  /** As where keys are passed over. Only then all rows are read. */
  @Test
  void whatIsHeldDeepInTheLineIsFound() throws Exception {
    var first = hold(3, 0);
    var deep = hold(7, WAITING - 1);
    assertThat(look(ALL).ids()).containsExactlyInAnyOrder(first, deep);
    assertThat(look(OF_CHANNEL_7).ids()).containsExactly(deep);
  }

  /** Their locks are no claims: what they stored is not looked for. */
  @Test
  void writersAreNotLookedFor() throws Exception {
    var writer = database.dataSource().getConnection();
    holders.add(writer);
    writer.setAutoCommit(false);
    try (var statement = writer.createStatement()) {
      statement.execute("select pgonce.publish('channel_7', '1')");
    }
    var all = look(ALL);
    assertThat(all.ids()).isEmpty();
    assertThat(all.read()).isLessThanOrEqualTo((long) CHANNELS * FIRST);
  }

  @Test
  void leasesAreFoundWhereNoRowIsLocked() throws Exception {
    database.execute(
        """
        select pgonce.install_channel('leased', 'AT_LEAST_ONCE', 'published');
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, token)
        select s.id, 1000000, now() + interval '1 minute', 1, now(), '1', gen_random_uuid() from pgonce.subscription s where s.of_channel = 'leased'
        """);
    assertThat(look(ALL).ids()).containsExactly(1_000_000L);
  }
}
