package org.pgonce.benchmarks.cpu;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.benchmarks.figures.MiscountException;
import org.pgonce.benchmarks.figures.Table;
import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.testkit.TestDatabase;

/** Measures the CPU time that an insert of one row takes in the server, kind by kind in turn. */
public final class CpuBenchmark {

  private static final String EMPTY =
      "truncate %s, queue_by_hand, pgonce.delivery_key; delete from pgonce.notification where subscription_id > 0";
  private static final String STORED =
      "select (select count(*) from queue_by_hand) + (select count(*) from pgonce.notification where subscription_id > 0)";
  private static final int UNMEASURED = 2_000; // as in table.sql

  private final TestDatabase database;
  private final int rows;
  private final Consumer<String> log;
  private final Map<Kind, Turns> turns = new EnumMap<>(Kind.class);

  /**
   * A benchmark that has yet to run.
   *
   * @param database empty, and of no other use
   * @param rows of each turn
   */
  public CpuBenchmark(TestDatabase database, int rows, Consumer<String> log) {
    this.database = database;
    this.rows = rows;
    this.log = log;
  }

  /**
   * Runs it.
   *
   * @return microseconds of a row, by kind and round
   * @throws MiscountException if a trigger has not stored what was written
   */
  public Map<Kind, Turns> run(int rounds) throws SQLException {
    prepare();
    for (var round = 1; round <= rounds; round++) {
      var order = new ArrayList<>(List.of(Kind.values()));
      if (round % 2 == 0) {
        Collections.reverse(order); // nobody is always first
      }
      for (var kind : order) {
        var micros = micros(kind);
        turns.computeIfAbsent(kind, each -> new Turns()).add(micros);
        log.accept("round %d  %-29s %s us".formatted(round, kind.label(), Table.fine(micros)));
      }
    }
    return turns;
  }

  private void prepare() throws SQLException {
    database.execute(text("tables.sql"));
    for (var kind : Kind.values()) {
      database.execute(text("table.sql").formatted(kind.table()));
    }
    database.execute(
        "create trigger store after insert on %s referencing new table as new_rows for each statement execute function store_by_hand()"
            .formatted(Kind.BY_HAND.table()));
    try (var pgonce = PgOnce.using(database.dataSource())) {
      pgonce.install(
          Stream.of(Kind.values())
              .map(Kind::channel)
              .filter(Objects::nonNull)
              .toArray(Channel<?>[]::new));
    }
  }

  private double micros(Kind kind) throws SQLException {
    database.execute(EMPTY.formatted(kind.table()));
    var nanos =
        Double.parseDouble(
            database.queryString("select insert_into_%s(%d)".formatted(kind.table(), rows)));
    var stored = database.queryLong(STORED);
    if (stored != (kind == Kind.NO_TRIGGER ? 0 : UNMEASURED + rows)) {
      throw new MiscountException(
          "%s: of %d rows written %d were stored"
              .formatted(kind.label(), UNMEASURED + rows, stored));
    }
    return nanos / 1_000;
  }

  private static String text(String file) {
    try (var in = CpuBenchmark.class.getResourceAsStream(file)) {
      return new String(Objects.requireNonNull(in, file).readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
