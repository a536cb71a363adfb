package org.pgonce.benchmarks.forms;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.benchmarks.figures.MiscountException;
import org.pgonce.testkit.TestDatabase;

/** The tables of all kinds with their triggers, and the one connection that writes to them. */
final class Field implements AutoCloseable {

  private final Connection connection;

  private Field(Connection connection) {
    this.connection = connection;
  }

  static Field prepare(TestDatabase database, Map<Operation, List<Kind>> kinds)
      throws SQLException {
    for (var operation : kinds.keySet()) {
      var form = operation == Operation.PARTITIONED_INSERT ? SqlFile.PARTITIONS : SqlFile.TABLE;
      for (var kind : kinds.get(operation)) {
        if (database.queryString("select to_regclass('" + kind.table() + "')") == null) {
          database.execute(form.of(kind.table()));
        }
      }
    }
    database.execute(SqlFile.BY_HAND.text());
    try (var pgonce = PgOnce.using(database.dataSource())) {
      pgonce.install(
          kinds.values().stream()
              .flatMap(Collection::stream)
              .map(Kind::channel)
              .filter(Objects::nonNull)
              .distinct()
              .toArray(Channel<?>[]::new));
    }
    database.execute(SqlFile.OWN_VACUUM.text());
    var source = database.dataSource();
    source.setPrepareThreshold(1);
    return new Field(source.getConnection());
  }

  /** Writes out what is behind, so that no turn of the next round has to. */
  void checkpoint() throws SQLException {
    execute("checkpoint");
  }

  /**
   * One turn: the timed rows follow some that are not, with which the server plans its statements
   * anew.
   *
   * @return rows per second
   * @throws MiscountException if the triggers have not stored a row for each that was written
   */
  double rowsPerSecond(Operation operation, Kind kind, int bulkRows) throws SQLException {
    var rows = operation.rowsOf(bulkRows);
    var before = operation.warmUpRows();
    execute(SqlFile.EMPTY.of(kind.table()));
    if (operation.needsRows()) {
      try (var filler = new Writer(Operation.BULK_INSERT, kind.table(), connection)) {
        var unused = filler.write(1, before + rows);
      }
    }
    execute("vacuum (analyze) " + kind.table());
    try (var writer = new Writer(operation, kind.table(), connection)) {
      var unused = writer.write(1, before);
      var nanos = writer.write(1 + before, rows);
      requireStored(operation, kind, before + rows);
      return rows * 1e9 / nanos;
    }
  }

  private void requireStored(Operation operation, Kind kind, int rows) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(SqlFile.STORED.text())) {
      row.next();
      var byHand = row.getLong(1);
      var byPgonce = row.getLong(2);
      if (byHand != (kind.isByHand() ? rows : 0)
          || byPgonce != (kind.channel() != null ? rows : 0)) {
        throw new MiscountException(
            "%s, %s: of %d rows written %d were stored by hand and %d by pgonce"
                .formatted(operation.label(), kind.label(), rows, byHand, byPgonce));
      }
    }
  }

  private void execute(String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
