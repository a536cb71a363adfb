package org.pgonce.time;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.TimeZone;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.WallClock;

/** Time is the database's, and it knows no zones. Processes with wrong clocks: ClockProcessTest. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class ClockTest {

  private static final PublishOptions PLAIN = PublishOptions.DEFAULT;

  private final TimeZone ownZone = TimeZone.getDefault();
  private TestDatabase database;
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    this.database = database;
    this.stage = new Stage(database);
  }

  @AfterEach
  void close() {
    TimeZone.setDefault(ownZone);
    stage.close();
  }

  /** Without exception. What only measures how long something takes reads System.nanoTime(). */
  @Test
  void h80_noClassReadsTheWallClock() throws Exception {
    assertThat(WallClock.readByModuleOf(PgOnce.class)).isEmpty();
  }

  private static long query(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(sql)) {
      row.next();
      return row.getLong(1);
    }
  }

  private static void setZone(Connection connection, String zone) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute("set timezone = '" + zone + "'");
    }
  }

  private static void publish(Connection connection, PublishOptions options) throws SQLException {
    Publisher.standard().publish(connection, ORDERS, new Order(1, "x"), options);
  }

  /** The only scheduled row's; and it is one no more. */
  private long takeDueEpochMicros() throws SQLException {
    return database.queryLong(
        """
        with taken as (delete from pgonce.scheduled where subscription_id > 0 returning due_at)
        select (extract(epoch from due_at) * 1000000)::bigint from taken
        """);
  }

  private long takeSecondsUntilDue() throws SQLException {
    return database.queryLong(
        """
        with taken as (delete from pgonce.scheduled where subscription_id > 0 returning due_at, created_at)
        select round(extract(epoch from due_at - created_at)) from taken
        """);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"America/New_York", "Australia/Lord_Howe", "America/Santiago", "Europe/Dublin"})
  void h80_whereTheClocksChangeBeforeItIsDueItIsDueAtTheSameInstant(String zone) throws Exception {
    TimeZone.setDefault(TimeZone.getTimeZone(zone));
    var change = ZoneId.systemDefault().getRules().nextTransition(Instant.now());
    try (var connection = database.unpooled().getConnection()) {
      setZone(connection, zone);
      assertThat(
              query(
                  connection,
                  "select extract(timezone from to_timestamp(%1$d)) - extract(timezone from to_timestamp(%1$d - 1))"
                      .formatted(change.toEpochSecond())))
          .as("the clocks of the session change then too")
          .isEqualTo(change.getDuration().toSeconds());

      // Before, at and after it; an hour that comes twice or not at all; and long after.
      for (var after : List.of(-1L, 0L, 1L, -1_800L, 1_800L, 3_600L, 7_200L, 86_400L * 200)) {
        var due = change.getInstant().plusSeconds(after);
        publish(connection, PLAIN.withDueAt(due.plusNanos(1_000)));
        assertThat(takeDueEpochMicros()).isEqualTo(due.getEpochSecond() * 1_000_000 + 1);
        query(
            connection,
            "select pgonce.publish('orders', '1', due_at => to_timestamp(%d))"
                .formatted(due.getEpochSecond()));
        assertThat(takeDueEpochMicros()).isEqualTo(due.getEpochSecond() * 1_000_000);
      }
      // A day has 24 hours, also that on which they change, and a delay of 400 days holds both.
      for (var days : List.of(1, Math.toIntExact(daysUntil(change.getInstant())) + 1, 400)) {
        publish(connection, PLAIN.withDelay(Duration.ofDays(days)));
        assertThat(takeSecondsUntilDue()).isEqualTo(days * 86_400L);
        query(
            connection,
            "select pgonce.publish('orders', '1', delay => interval '%d days')".formatted(days));
        assertThat(takeSecondsUntilDue()).isEqualTo(days * 86_400L);
      }
    }
  }

  private static long daysUntil(Instant when) {
    return Duration.between(Instant.now(), when).toDays();
  }

  /** A zone whose clocks are put forward by an hour, so long from now by the database's clock. */
  private String zoneThatChangesIn(String interval) throws SQLException {
    return database.queryString(
        """
        select format('STD0SUM-1,%%s/%%s,%%s/0', day - 1, to_char(at, 'HH24:MI:SS'), (day + 99) %% 365)
          from (select clock_timestamp() at time zone 'UTC' + interval '%s' as at) n, lateral (select extract(doy from at)::int as day) d
        """
            .formatted(interval));
  }

  /** A pool of sessions in that zone. */
  private HikariDataSource pooledIn(String zone) {
    var pool = new HikariDataSource();
    pool.setDataSource(database.unpooled());
    pool.setMaximumPoolSize(8);
    pool.setConnectionInitSql("set timezone = '" + zone + "'");
    return pool;
  }

  @Tag("all")
  @Test
  void h80_theClocksChangeWhileItWaitsAndItIsHandledInTime() throws Exception {
    var lateness = new CopyOnWriteArrayList<Long>();
    var zone = zoneThatChangesIn("2 seconds");
    try (var pool = pooledIn(zone)) {
      stage
          .pgonce(pool)
          .listen(
              ORDERS,
              QUICK,
              (order, tx) ->
                  lateness.addAll(
                      tx.query(
                          // What was published too late for its time is due at once.
                          "select (1000 * extract(epoch from clock_timestamp() - due_at))::bigint from pgonce.scheduled where subscription_id > 0 and id = ?"
                              + " union all select 0 from pgonce.notification where subscription_id > 0 and id = ?",
                          row -> row.getLong(1),
                          order.id(),
                          order.id())))
          .start();
      try (var connection = pool.getConnection()) {
        assertThat(
                query(
                    connection,
                    "select extract(timezone from clock_timestamp() + interval '10 s') - extract(timezone from clock_timestamp() - interval '10 s')"))
            .as("the change is near")
            .isEqualTo(3_600);
        var now = query(connection, "select extract(epoch from clock_timestamp()) * 1000");
        for (var after : List.of(1_000, 2_500, 3_000)) {
          publish(connection, PLAIN.withDueAt(Instant.ofEpochMilli(now + after)));
          publish(connection, PLAIN.withDelay(Duration.ofMillis(after)));
        }
      }
      stage.awaitSoon(() -> lateness.size() == 6);
      stage.awaitNothingWaits();
      assertThat(lateness).allMatch(ms -> ms >= 0 && ms < 20_000);
    }
  }

  /** From a migration: in Java it is a number of milliseconds. */
  @Test
  void h80_aKeyIsRememberedForADayWhereTheDayHas23Hours() throws Exception {
    database.execute(
        "select pgonce.install_channel('mindful', 'EXACTLY_ONCE', 'publish', key_memory => interval '1 day')");
    var publish = "select pgonce.publish('mindful', '1', delivery_key => 'a')";
    var first = database.queryLong(publish);
    database.execute(
        "delete from pgonce.notification where subscription_id > 0;"
            + "update pgonce.delivery_key set waiting = 0, done_at = clock_timestamp() - interval '23:30:00'");
    try (var connection = database.unpooled().getConnection()) {
      setZone(connection, zoneThatChangesIn("-12 hours"));
      assertThat(
              query(
                  connection,
                  "select extract(epoch from clock_timestamp() - interval '23:30:00' + interval '1 day' - clock_timestamp())"))
          .as("a day is over there in 23 hours")
          .isNegative();
      assertThat(query(connection, "select pgonce.forget_keys()")).isZero();
      assertThat(query(connection, publish)).isEqualTo(first);
      database.execute(
          "update pgonce.delivery_key set done_at = clock_timestamp() - interval '24:00:00'");
      assertThat(query(connection, "select pgonce.forget_keys()")).isEqualTo(1);
    }
  }
}
