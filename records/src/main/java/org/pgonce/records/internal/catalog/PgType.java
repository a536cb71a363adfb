package org.pgonce.records.internal.catalog;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.pgonce.internal.jdbc.Statements;

/**
 * A row of pg_type.
 *
 * @param name as format_type writes it
 * @param kind typtype: b, c, d, e, p, r, m
 * @param base of a domain, else 0
 * @param baseDimensions of a domain over an array, as it was declared
 * @param element of what PostgreSQL takes for an array, else 0
 * @param relation of a composite type, else 0
 */
record PgType(
    String name,
    Shape shape,
    String kind,
    long base,
    int baseModifier,
    int baseDimensions,
    boolean notNull,
    long element,
    long relation) {

  // What to_json writes as an array is what has the subscripts of one: int2vector and oidvector
  // too, though they are nobody's typarray; point and name not, though they have elements.
  private static final String READ =
      """
      SELECT t.typname, n.nspname = 'pg_catalog', t.typtype::text, t.typbasetype::bigint, t.typtypmod, t.typnotnull,
             CASE WHEN t.typsubscript = 'pg_catalog.array_subscript_handler'::pg_catalog.regproc THEN t.typelem::bigint END,
             t.typrelid::bigint, pg_catalog.format_type(t.oid, CAST(? AS integer)),
             x.castfunc IS NOT NULL, t.typndims
        FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
        LEFT JOIN pg_catalog.pg_cast x
          ON x.castsource = t.oid AND x.casttarget = 'pg_catalog.json'::pg_catalog.regtype AND x.castmethod = 'f'
       WHERE t.oid = CAST(CAST(? AS bigint) AS oid)
      """;

  static PgType read(Connection connection, long oid, int modifier) throws SQLException {
    return Statements.rows(connection, READ, PgType::of, modifier, oid).stream()
        .findFirst()
        .orElseThrow(
            () -> new SQLException("type " + oid + " was dropped while its table was read"));
  }

  private static PgType of(ResultSet row) throws SQLException {
    var kind = row.getString(3);
    var element = row.getLong(7);
    return new PgType(
        row.getString(9),
        element == 0
            ? shape(row.getString(1), row.getBoolean(2), kind, row.getBoolean(10))
            : Shape.ARRAY,
        kind,
        row.getLong(4),
        row.getInt(5),
        row.getInt(11),
        row.getBoolean(6),
        element,
        row.getLong(8));
  }

  private static Shape shape(String name, boolean builtIn, String kind, boolean castToJson) {
    // In the order of to_json: a row type is never cast.
    if (kind.equals("c")) {
      return Shape.COMPOSITE;
    }
    if (builtIn) {
      return Shape.ofBuiltIn(name);
    }
    if (castToJson) {
      return Shape.UNKNOWN;
    }
    if (kind.equals("e")) {
      return Shape.ENUM;
    }
    return name.equals("citext") ? Shape.TEXT : Shape.STRING;
  }
}
