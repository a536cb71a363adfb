package org.pgonce.triggers.internal.catalog;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Reads the columns of a table with their types, into arrays and composite types. */
public final class Columns {

  private static final String COLUMNS =
      """
      SELECT a.attname, a.atttypid::bigint, a.atttypmod, a.attnotnull, a.attgenerated = 'v', a.attndims
        FROM pg_catalog.pg_attribute a
       WHERE a.attrelid = CAST(CAST(? AS bigint) AS oid) AND a.attnum > 0 AND NOT a.attisdropped
       ORDER BY a.attnum
      """;

  private static final String PRIMARY_KEY =
      """
      SELECT a.attname FROM pg_catalog.pg_index i
        JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
       WHERE i.indrelid = CAST(CAST(? AS bigint) AS oid) AND i.indisprimary
      """;

  private static final String LABELS =
      "SELECT e.enumlabel FROM pg_catalog.pg_enum e WHERE e.enumtypid = CAST(CAST(? AS bigint) AS oid) ORDER BY e.enumsortorder";

  private final Connection connection;

  private Columns(Connection connection) {
    this.connection = connection;
  }

  /** Takes no lock on the table. */
  public static List<Column> of(Connection connection, WatchedTable table) throws SQLException {
    return new Columns(connection).read(table.oid());
  }

  /** The names of those of the primary key; empty if there is none. */
  public static List<String> primaryKey(Connection connection, WatchedTable table)
      throws SQLException {
    try (var statement = connection.prepareStatement(PRIMARY_KEY)) {
      statement.setLong(1, table.oid());
      var names = new ArrayList<String>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          names.add(row.getString(1));
        }
      }
      return names;
    }
  }

  private List<Column> read(long relation) throws SQLException {
    record Attribute(
        String name, long type, int modifier, boolean notNull, boolean virtual, int dimensions) {}
    var attributes = new ArrayList<Attribute>();
    try (var statement = connection.prepareStatement(COLUMNS)) {
      statement.setLong(1, relation);
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          attributes.add(
              new Attribute(
                  row.getString(1),
                  row.getLong(2),
                  row.getInt(3),
                  row.getBoolean(4),
                  row.getBoolean(5),
                  row.getInt(6)));
        }
      }
    }
    var columns = new ArrayList<Column>();
    for (var attribute : attributes) {
      var type = type(attribute.type(), attribute.modifier(), attribute.dimensions());
      columns.add(
          new Column(
              attribute.name(),
              type.type(),
              !attribute.notNull() && !type.notNull(),
              attribute.virtual()));
    }
    return columns;
  }

  /** A type, and whether it is a domain that takes no null. */
  private record Typed(ColumnType type, boolean notNull) {}

  private Typed type(long oid, int modifier, int dimensions) throws SQLException {
    var row = PgType.read(connection, oid, modifier);
    if (row.kind().equals("d")) {
      var base = type(row.base(), row.baseModifier(), row.baseDimensions());
      var domain =
          new ColumnType(
              row.name(), base.type().shape(), base.type().modifier(), base.type().parts());
      return new Typed(domain, row.notNull() || base.notNull());
    }
    if (row.element() != 0) {
      var element = type(row.element(), modifier, 0).type();
      var parts = new ColumnType.Parts(element, Math.max(1, dimensions), List.of(), List.of());
      return new Typed(new ColumnType(row.name(), Shape.ARRAY, -1, parts), false);
    }
    var parts =
        switch (row.kind()) {
          case "c" -> new ColumnType.Parts(null, 0, attributes(row.relation()), List.of());
          case "e" -> new ColumnType.Parts(null, 0, List.of(), labels(oid));
          default -> new ColumnType.Parts(null, 0, List.of(), List.of());
        };
    return new Typed(new ColumnType(row.name(), row.shape(), modifier, parts), false);
  }

  private List<Column> attributes(long relation) throws SQLException {
    return read(relation).stream()
        .map(attribute -> new Column(attribute.name(), attribute.type(), false, false))
        .toList();
  }

  private List<String> labels(long type) throws SQLException {
    try (var statement = connection.prepareStatement(LABELS)) {
      statement.setLong(1, type);
      var labels = new ArrayList<String>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          labels.add(row.getString(1));
        }
      }
      return labels;
    }
  }
}
