package org.pgonce.records.internal.catalog;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.pgonce.internal.jdbc.Statements;

/** Reads the columns of a table with their types, into arrays and composite types. */
final class Columns {

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

  private static final String IMMEDIATE_KEY =
      "SELECT EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = CAST(CAST(? AS bigint) AS oid) AND i.indisprimary AND i.indimmediate)";

  private static final String LABELS =
      "SELECT e.enumlabel FROM pg_catalog.pg_enum e WHERE e.enumtypid = CAST(CAST(? AS bigint) AS oid) ORDER BY e.enumsortorder";

  private final Connection connection;
  private final Map<TypeKey, Typed> types = new HashMap<>();

  private Columns(Connection connection) {
    this.connection = connection;
  }

  /** Takes no lock on the table. */
  static List<Column> of(Connection connection, long relation) throws SQLException {
    return new Columns(connection).read(relation);
  }

  /** The names of those of the primary key; empty if there is none. */
  static List<String> primaryKey(Connection connection, long relation) throws SQLException {
    return Statements.rows(connection, PRIMARY_KEY, row -> row.getString(1), relation);
  }

  /** Whether it has a primary key that is not deferrable. */
  static boolean hasImmediateKey(Connection connection, long relation) throws SQLException {
    return Statements.row(connection, IMMEDIATE_KEY, row -> row.getBoolean(1), relation);
  }

  private List<Column> read(long relation) throws SQLException {
    record Attribute(String name, TypeKey type, boolean notNull, boolean virtual) {}
    var attributes =
        Statements.rows(
            connection,
            COLUMNS,
            row ->
                new Attribute(
                    row.getString(1),
                    new TypeKey(row.getLong(2), row.getInt(3), row.getInt(6)),
                    row.getBoolean(4),
                    row.getBoolean(5)),
            relation);
    var columns = new ArrayList<Column>();
    for (var attribute : attributes) {
      var typed = type(attribute.type());
      var nullable = !attribute.notNull() && !typed.notNull();
      columns.add(new Column(attribute.name(), typed.type(), nullable, attribute.virtual()));
    }
    return columns;
  }

  private record TypeKey(long oid, int modifier, int dimensions) {}

  /** A type, and whether it is a domain that takes no null. */
  private record Typed(ColumnType type, boolean notNull) {}

  private Typed type(TypeKey key) throws SQLException {
    var known = types.get(key);
    if (known == null) {
      known = readType(key);
      types.put(key, known);
    }
    return known;
  }

  private Typed readType(TypeKey key) throws SQLException {
    var row = PgType.read(connection, key.oid(), key.modifier());
    if (row.kind().equals("d")) {
      var base = type(new TypeKey(row.base(), row.baseModifier(), row.baseDimensions()));
      var domain =
          new ColumnType(
              row.name(),
              base.type().plain(),
              base.type().shape(),
              base.type().modifier(),
              base.type().parts());
      return new Typed(domain, row.notNull() || base.notNull());
    }
    if (row.element() != 0) {
      var element = type(new TypeKey(row.element(), key.modifier(), 0)).type();
      var parts =
          new ColumnType.Parts(element, Math.max(1, key.dimensions()), List.of(), List.of());
      return new Typed(
          new ColumnType(row.name(), element.plain() + "[]", Shape.ARRAY, -1, parts), false);
    }
    var attributes = row.kind().equals("c") ? attributes(row.relation()) : List.<Column>of();
    var labels =
        row.kind().equals("e")
            ? Statements.rows(connection, LABELS, label -> label.getString(1), key.oid())
            : List.<String>of();
    var parts = new ColumnType.Parts(null, 0, attributes, labels);
    var plain = row.kind().equals("e") ? "text" : row.name();
    return new Typed(new ColumnType(row.name(), plain, row.shape(), key.modifier(), parts), false);
  }

  private List<Column> attributes(long relation) throws SQLException {
    return read(relation).stream()
        .map(attribute -> new Column(attribute.name(), attribute.type(), false, false))
        .toList();
  }
}
