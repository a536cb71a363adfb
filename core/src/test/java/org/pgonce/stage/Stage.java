package org.pgonce.stage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.awaitility.core.ConditionTimeoutException;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceBuilder;
import org.pgonce.Publisher;
import org.pgonce.Tx;
import org.pgonce.WakeUps;
import org.pgonce.testkit.TestDatabase;

/**
 * What most tests of listeners stand on: a database with a table for effects, a pool, and listeners
 * that are closed at the end.
 */
public final class Stage implements AutoCloseable {

  // A bound and no expectation: on a machine that does other things as well, a commit may take 10
  // ms.
  public static final Duration SOON = Duration.ofSeconds(45);

  /** Failures come back at once, so that tests do not wait for production's backoff. */
  public static final ListenOptions QUICK =
      ListenOptions.DEFAULT
          .withBackoff(new Backoff(Duration.ofMillis(20), Duration.ofMillis(50)))
          .withMaxAttempts(3);

  private static final String NEW =
      "select concat(count(*), ' new: ', left(string_agg(id::text, ' ' order by id), 2000)) from pgonce.notification where subscription_id > 0";
  private static final String LATER =
      "select string_agg(concat_ws(' ', id, attempts, due_at - clock_timestamp(), last_error), E'\\n')"
          + " from pgonce.scheduled where subscription_id > 0";
  private static final String LISTENERS =
      "select concat('gate ', pg_sequence_last_value(pgonce.gate_of('orders')), E'\\n', string_agg(l::text, E'\\n')) from pgonce.listener l";
  private static final String SESSIONS =
      "select string_agg(concat_ws(' ', pid, state, wait_event, now() - xact_start, left(query, 60)), E'\\n')"
          + " from pg_stat_activity where datname = current_database()";

  public static final String WAITING =
      "select (select count(*) from pgonce.notification where subscription_id > 0) + (select count(*) from pgonce.scheduled where subscription_id > 0)";

  /** Which ids of a table {@code written} were not handled once, and how often; null if none. */
  public static final String NOT_ONCE =
      """
      select string_agg(coalesce(w.id, e.id) || ' ' || coalesce(e.times, 0), ', ')
        from written w full join (select id, count(*) as times from effect group by id) e on e.id = w.id
       where w.id is null or e.times is distinct from 1
      """;

  public record Order(long id, String item) {}

  public static final Channel<Order> ORDERS = Channel.of("orders", Order.class);

  public final TestDatabase database;
  public final HikariDataSource dataSource;
  private final List<PgOnce> opened = new ArrayList<>();

  public Stage(TestDatabase database) throws SQLException {
    this.database = database;
    this.dataSource = database.pooled(24);
    try (var connection = dataSource.getConnection();
        var statement = connection.createStatement()) {
      statement.execute("create table effect (id bigint, note text)");
    }
    PgOnce.using(dataSource).install(ORDERS);
  }

  /** In a process of its own, by its first two arguments: the address of a database, and a user. */
  public static HikariDataSource pooled(String[] arguments, int size) {
    var pool = new HikariDataSource();
    pool.setJdbcUrl(arguments[0]);
    pool.setUsername(arguments[1]);
    pool.setMaximumPoolSize(size);
    return pool;
  }

  /** A channel whose gate is never open. */
  public static Channel<Order> wokenAlways(String name, Mode mode) {
    var options = ChannelOptions.DEFAULT;
    return Channel.of(
        name,
        Order.class,
        mode,
        mode == Mode.BROADCAST ? options : options.withWakeUps(WakeUps.ALWAYS));
  }

  /**
   * Writers take it that a listener runs: while none does, they notify nobody, and what they store
   * is found by the poll. A listener registers a moment after its start.
   */
  public void somebodyListens() throws SQLException {
    database.execute(
        "select pgonce_private.fit_gates((select array_agg(s.id) from pgonce.subscription s))");
  }

  /** Who of those on the list it is: an expression. */
  public static String firstOf(Channel<?> channel) {
    return "(select f.listener from pgonce.first_listeners() f join pgonce.subscription s on s.id = f.subscription where s.of_channel = '%s')"
        .formatted(channel.name());
  }

  /** One that is on the list and hears nothing: its machine was lost, or it is frozen. */
  public void aLostOneIsTheFirst(Channel<?> channel) throws SQLException {
    database.execute(
        """
        do $$
        declare
          lost uuid;
        begin
          loop
            lost := gen_random_uuid();
            insert into pgonce.listener (id, instance, subscriptions, listens_by, silence)
            select lost, 'lost', array_agg(s.id), 'pgjdbc', interval '1 hour' from pgonce.subscription s where s.of_channel = '%s';
            exit when %s = lost;
            delete from pgonce.listener where id = lost;
          end loop;
        end
        $$
        """
            .formatted(channel.name(), firstOf(channel)));
  }

  /** For tests that count by the server's statistics: before 15 these come by UDP, if at all. */
  public void assumeExactStatistics() throws SQLException {
    assumeTrue(
        database.queryLong("select current_setting('server_version_num')::bigint") >= 150000,
        "PostgreSQL before 15 sends its statistics by UDP and may lose them: nothing to count");
  }

  public PgOnce pgonce() {
    return pgonce(PgOnce.builder(dataSource));
  }

  public PgOnce pgonce(DataSource other) {
    return pgonce(PgOnce.builder(other));
  }

  public PgOnce pgonce(PgOnceBuilder builder) {
    return pgonce(builder, Duration.ofMillis(500));
  }

  public PgOnce pgonce(PgOnceBuilder builder, Duration pollInterval) {
    var pgonce = builder.pollInterval(pollInterval).stopTimeout(Duration.ofSeconds(2)).build();
    opened.add(pgonce);
    return pgonce;
  }

  public OnCall onCall() {
    return new OnCall(dataSource);
  }

  /** Publishes orders with ids 1 to {@code count}, in one transaction. */
  public void publish(int count) throws SQLException {
    var orders = new ArrayList<Order>();
    for (var id = 1; id <= count; id++) {
      orders.add(new Order(id, "item"));
    }
    try (var connection = dataSource.getConnection()) {
      Publisher.standard().publishAll(connection, ORDERS, orders);
    }
  }

  /** The handler that most tests use: one effect per notification. */
  public static void effect(Notification<Order> order, Tx tx) throws SQLException {
    tx.update(
        "insert into effect values (?, ?)", order.payload().id(), "attempt " + order.attempt());
  }

  public long effects() throws SQLException {
    return database.queryLong("select count(*) from effect");
  }

  public long waiting() throws SQLException {
    return database.queryLong(WAITING);
  }

  /** New rows that nobody holds. */
  public long claimable() throws SQLException {
    return database.queryLong(
        "select count(*) from (select id from pgonce.notification where subscription_id > 0 for update skip locked) free");
  }

  public long deadLetters() throws SQLException {
    return database.queryLong("select count(*) from pgonce.dead_letter");
  }

  /** A listener that starts closes the gate, so that writers notify. */
  public void awaitGateIsClosed() {
    awaitSoon(
        () -> database.queryLong("select pg_sequence_last_value(pgonce.gate_of('orders'))") == 0);
  }

  public void awaitNothingWaits() {
    awaitSoon(() -> waiting() == 0);
  }

  /** Waits until it has happened. */
  public static void awaitSoon(CountDownLatch happened) throws InterruptedException {
    assertThat(happened.await(SOON.toSeconds(), TimeUnit.SECONDS)).as("it happened").isTrue();
  }

  /**
   * Waits for a permit, and takes it: at once, where {@link #awaitSoon(Callable)} looks 40 times a
   * second.
   */
  public static void awaitSoon(Semaphore permits) throws InterruptedException {
    assertThat(permits.tryAcquire(SOON.toSeconds(), TimeUnit.SECONDS)).as("a permit").isTrue();
  }

  /** Waits for the condition; where it does not come, the output says how everything stands. */
  public void awaitSoon(Callable<Boolean> condition) {
    awaitWithin(SOON, condition);
  }

  /** The same with a bound of its own. */
  public void awaitWithin(Duration bound, Callable<Boolean> condition) {
    try {
      await().atMost(bound).until(condition);
    } catch (ConditionTimeoutException stuck) {
      opened.forEach(pgonce -> System.out.println("STUCK " + pgonce.status()));
      Thread.getAllStackTraces()
          .forEach(
              (thread, at) -> {
                if (thread.getName().startsWith("pgonce")) {
                  System.out.println("STUCK " + thread.getName() + " " + List.of(at));
                }
              });
      for (var table : List.of(NEW, LATER, SESSIONS, LISTENERS)) {
        try {
          System.out.println("STUCK " + database.queryString(table));
        } catch (SQLException e) {
          stuck.addSuppressed(e);
        }
      }
      throw stuck;
    }
  }

  /** Every effect once: no order twice, none missing. */
  public boolean eachOnce(int count) throws SQLException {
    return effects() == count
        && database.queryLong("select count(distinct id) from effect") == count;
  }

  /**
   * Ends the listeners and leaves nothing waiting, so that the next test begins as this one did.
   */
  public void clear() throws SQLException {
    close();
    opened.clear();
    database.execute(
        "truncate effect, pgonce.notification, pgonce.scheduled, pgonce.dead_letter, pgonce.delivery_key, pgonce.listener");
  }

  @Override
  public void close() {
    opened.forEach(PgOnce::close);
  }
}
