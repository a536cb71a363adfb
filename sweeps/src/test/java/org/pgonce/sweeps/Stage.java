package org.pgonce.sweeps;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.pgonce.Backoff;
import org.pgonce.ListenOptions;
import org.pgonce.PgOnce;
import org.pgonce.testkit.TestDatabase;

/** A database with a table for effects, and listeners that are closed at the end. */
final class Stage implements AutoCloseable {

  /** A bound and no expectation: the machine may do other things as well. */
  static final Duration SOON = Duration.ofSeconds(45);

  /** Failures come back at once, so that tests do not wait for production's backoff. */
  static final ListenOptions QUICK =
      ListenOptions.DEFAULT
          .withBackoff(new Backoff(Duration.ofMillis(20), Duration.ofMillis(50)))
          .withMaxAttempts(3);

  final TestDatabase database;
  final HikariDataSource dataSource;
  private final List<PgOnce> opened = new ArrayList<>();

  Stage(TestDatabase database) throws SQLException {
    this.database = database;
    this.dataSource = database.pooled(24);
    database.execute("create table effect (id bigint, note text)");
  }

  PgOnce pgonce() {
    return pgonce(dataSource);
  }

  PgOnce pgonce(DataSource other) {
    var pgonce =
        PgOnce.builder(other)
            .pollInterval(Duration.ofMillis(500))
            .stopTimeout(Duration.ofSeconds(2))
            .build();
    opened.add(pgonce);
    return pgonce;
  }

  long effects() throws SQLException {
    return database.queryLong("select count(*) from effect");
  }

  /** Every effect once: none twice, none missing. */
  boolean eachOnce(int count) throws SQLException {
    return effects() == count
        && database.queryLong("select count(distinct id) from effect") == count;
  }

  long waiting() throws SQLException {
    return database.queryLong(
        "select (select count(*) from pgonce.notification where subscription_id > 0) + (select count(*) from pgonce.scheduled where subscription_id > 0)");
  }

  void awaitNothingWaits() {
    awaitSoon(() -> waiting() == 0);
  }

  /** Waits until it has happened. */
  static void awaitSoon(CountDownLatch happened) throws InterruptedException {
    assertThat(happened.await(SOON.toSeconds(), TimeUnit.SECONDS)).as("it happened").isTrue();
  }

  /** Waits until it has happened. */
  void awaitSoon(Callable<Boolean> condition) {
    await().atMost(SOON).until(condition);
  }

  @Override
  public void close() {
    opened.forEach(PgOnce::close);
  }
}
