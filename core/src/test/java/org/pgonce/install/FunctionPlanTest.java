package org.pgonce.install;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * What pgonce's functions ask of the tables that may be large goes by an index, whatever the tables
 * looked like when a session made its plans, and whatever statistics say. The claim's own statement
 * is {@link org.pgonce.internal.claim.ClaimPlanTest}'s.
 */
@Tag("all")
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class FunctionPlanTest {

  // PL/pgSQL makes five plans of a statement before it keeps one.
  private static final int CALLS = 7;

  private static final String EXPLAINED =
      "load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;"
          + " set auto_explain.log_level = notice; set client_min_messages = notice";
  private static final Pattern LARGE =
      Pattern.compile(
          "Seq Scan on (notification|scheduled|dead_letter|delivery_key)\\b|Bitmap Heap Scan on (notification|scheduled)\\b");

  private static final String FILL =
      """
      insert into pgonce.notification (subscription_id, payload, order_key, delivery_key)
        select %1$s, '{}', 'key ' || g %% 100, 'delivery ' || g from generate_series(1, %2$d) g;
      insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, order_key)
        select %1$s, g, clock_timestamp() - interval '1 second', 1, clock_timestamp(), '{}', 'key ' || g %% 100 from generate_series(1000001, 1000000 + %2$d) g on conflict do nothing;
      insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, order_key)
        select %1$s, g, 1, clock_timestamp(), 'REJECTED', 'x', '{}', 'dead ' || g %% 100 from generate_series(2000001, 2000000 + %2$d) g on conflict do nothing;
      insert into pgonce.delivery_key (channel_id, key, id, fingerprint, waiting, done_at)
        select c.id, 'delivery ' || g, g, '', 1, case when g %% 2 = 0 then clock_timestamp() end
          from generate_series(1, %2$d) g, pgonce.channel c where c.name = '%3$s' on conflict do nothing;
      """;

  private static final List<String> CHANNELS = List.of("plain", "ordered", "limited");

  // In a transaction that is rolled back; %1$s is the subscription.
  private static final List<String> ALL =
      List.of(
          "select pgonce.poll(id) from pgonce.listener",
          "select cause from pgonce.explain('plain')",
          "select cause from pgonce.explain('ordered', (select max(id) from pgonce.notification where subscription_id = %1$s))",
          "select cause from pgonce.explain('limited')",
          "select cause from pgonce.explain('plain', 0)",
          "select id from pgonce.at_work",
          "select pgonce.retry_now('plain', 1000004)",
          "select pgonce_private.keep_padding()",
          "select pgonce.forget_keys(100)",
          "select pgonce_private.clear_leftovers(100)",
          "select pgonce.publish('plain', '1', delivery_key => 'delivery ' || 10)",
          "select pgonce.publish('plain', '1', delivery_key => gen_random_uuid()::text)",
          "select pgonce.publish_each('plain', '[1, 2]', '[{\"delivery_key\": \"delivery 11\"}, {\"delivery_key\": \"new\"}]')",
          "select pgonce.take_back('plain', '[\"new\", \"delivery 12\"]')",
          "select pgonce.keys_done(%1$s, '{13,14}', '{delivery 13,delivery 14}')",
          "select pgonce_private.keys_done_later(channel_id, '{14,15}', '{delivery 14,delivery 15}') from pgonce.subscription where id = %1$s",
          "select pgonce.renew(%1$s, '{1000001,1000002}', '{00000000-0000-0000-0000-000000000000,00000000-0000-0000-0000-000000000000}', 1000)",
          "select pgonce.schedule(%1$s, 1000003, 1, null, 2, null, 1000, 'failed')",
          "select pgonce.bury(%1$s, (select min(id) from pgonce.notification where subscription_id = %1$s), 0, null, 1, 'REJECTED', 'x')");

  private static List<String> claims(String channel) {
    var calls = new ArrayList<String>();
    for (var due : List.of("false", "true")) {
      calls.add(
          "select pgonce.lease(%1$s, "
              + due
              + ", gen_random_uuid(), 1000, 10, '"
              + (channel.equals("ordered") ? "DEAD_LETTER_BLOCKS" : "NONE")
              + "', 'EXACTLY_ONCE'"
              + (channel.equals("limited") ? ", max_per_key => 2" : "")
              + ")");
    }
    return calls;
  }

  @BeforeEach
  void install(TestDatabase database) throws SQLException {
    database.execute(
        """
        select pgonce.install_channel('plain', 'EXACTLY_ONCE', 'publish', key_memory => '1 hour');
        select pgonce.install_channel('ordered', 'EXACTLY_ONCE', 'publish', key_order => 'DEAD_LETTER_BLOCKS');
        select pgonce.install_channel('limited', 'EXACTLY_ONCE', 'publish', max_per_key => 2);
        select pgonce.install_channel('gone', 'EXACTLY_ONCE', 'publish');
        select pgonce.drop_channel('gone');
        select pgonce.listener_starts(gen_random_uuid(), 'test', (select array_agg(id) from pgonce.subscription), 'polling', 3600000);
        alter table pgonce.notification set (autovacuum_enabled = off);
        alter table pgonce.scheduled set (autovacuum_enabled = off);
        alter table pgonce.dead_letter set (autovacuum_enabled = off);
        alter table pgonce.delivery_key set (autovacuum_enabled = off)
        """);
  }

  private static void fill(TestDatabase database, int rows) throws SQLException {
    for (var channel : CHANNELS) {
      database.execute(
          FILL.formatted(
              "(select s.id from pgonce.subscription s where s.of_channel = '" + channel + "')",
              rows,
              channel));
    }
  }

  private static void vacuum(TestDatabase database, String how) throws SQLException {
    for (var table : List.of("notification", "scheduled", "dead_letter", "delivery_key")) {
      database.execute(how + " pgonce." + table);
    }
  }

  private static void clear(TestDatabase database) throws SQLException {
    database.execute(
        "delete from pgonce.notification where subscription_id > 0; delete from pgonce.scheduled where subscription_id > 0;"
            + " delete from pgonce.dead_letter; delete from pgonce.delivery_key");
  }

  /** What reads a large table as a whole: the statement, and how. */
  private static Set<String> wholeReads(Connection session) throws SQLException {
    var found = new TreeSet<String>();
    session.setAutoCommit(false);
    try (var statement = session.createStatement()) {
      for (var channel : CHANNELS) {
        var calls = new ArrayList<>(claims(channel));
        if (channel.equals("plain")) {
          calls.addAll(ALL);
        }
        for (var call : calls) {
          for (var i = 0; i < CALLS; i++) {
            run(
                statement,
                call.formatted(
                    "(select s.id from pgonce.subscription s where s.of_channel = '"
                        + channel
                        + "')"),
                found);
            session.rollback();
          }
        }
      }
    }
    return found;
  }

  private static void run(Statement statement, String call, Set<String> found) throws SQLException {
    statement.execute(call);
    for (var told = statement.getWarnings(); told != null; told = told.getNextWarning()) {
      var plan = told.getMessage();
      var whole = LARGE.matcher(plan);
      // The call's own sub-select is the test's.
      if (whole.find() && !plan.contains("Query Text: " + call.substring(0, 20))) {
        found.add(whole.group() + " in " + plan.lines().skip(1).limit(12).toList());
      }
    }
    statement.clearWarnings();
  }

  private static Connection session(TestDatabase database, String pageCost) throws SQLException {
    var session = database.dataSource().getConnection();
    try (var statement = session.createStatement()) {
      statement.execute(EXPLAINED + "; set random_page_cost = " + pageCost);
    }
    return session;
  }

  @ParameterizedTest
  @ValueSource(strings = {"4", "1.1"})
  void h89_functionsGoByTheIndexThoughTheirPlansAreMadeOnEmptyTables(
      String pageCost, TestDatabase database) throws Exception {
    vacuum(database, "vacuum analyze");
    try (var session = session(database, pageCost)) {
      wholeReads(session); // an empty table may be read as a whole
      fill(database, 10);
      database.execute("truncate pgonce.dead_letter, pgonce.delivery_key");
      vacuum(database, "vacuum analyze");
      wholeReads(session);
      fill(database, 10_000);
      assertThat(wholeReads(session)).isEmpty();
      vacuum(database, "analyze");
      assertThat(wholeReads(session)).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"4", "1.1"})
  void h89_functionsGoByTheIndexThoughStatisticsAreThoseOfFullTables(
      String pageCost, TestDatabase database) throws Exception {
    fill(database, 10_000);
    vacuum(database, "vacuum analyze");
    clear(database);
    try (var session = session(database, pageCost)) {
      assertThat(wholeReads(session)).isEmpty();
      fill(database, 10_000);
      assertThat(wholeReads(session)).isEmpty();
    }
  }

  @Test
  void h89_functionsGoByTheIndexBesideASubscriptionThatHasAlmostAllRows(TestDatabase database)
      throws Exception {
    database.execute(FILL.formatted("1000000", 50_000, "gone"));
    fill(database, 10);
    vacuum(database, "vacuum analyze");
    try (var session = session(database, "4")) {
      assertThat(wholeReads(session)).isEmpty();
    }
  }
}
