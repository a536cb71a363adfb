package org.pgonce.records;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Objects;
import org.pgonce.PgOnceException;
import org.pgonce.records.internal.fit.Comparison;
import org.pgonce.records.internal.fit.RowType;
import org.pgonce.records.internal.source.RecordSource;

/**
 * Prints the record of a table, and compares the two: for developers, and for tests. All of it is
 * read-only, takes no lock on the table, and needs no right on it, nor pgonce's schema.
 */
public final class Records {

  private Records() {}

  /**
   * A record for a table, as Java source that compiles: a component per column, of the type that
   * {@linkplain org.pgonce.records the package} documents and named as Java names are, records for
   * composite types, enums for enums, and at its end the channel of its new rows. It can be a file
   * of its own, or a member of a class (with the imports above that). Columns that no trigger sees,
   * and those that a record has no room for, are left out, which a comment says.
   *
   * @param table as SQL writes it, as for a trigger channel: {@code author}, {@code app."Odd.Name"}
   * @return lines that end with \n
   * @throws IllegalArgumentException if the name is none
   * @throws PgOnceException if there is no such table, or it cannot feed a channel
   */
  public static String print(Connection connection, String table) throws SQLException {
    return print(connection, TableName.parse(Objects.requireNonNull(table, "table")));
  }

  /** As {@link #print(Connection, String)}, with the name as PostgreSQL stores it. */
  public static String print(Connection connection, TableName table) throws SQLException {
    Objects.requireNonNull(connection, "connection");
    var comparison = Comparison.with(connection, Objects.requireNonNull(table, "table"));
    if (comparison.obstacle() != null) {
      throw new PgOnceException("pgonce cannot print a record: " + comparison.obstacle());
    }
    return RecordSource.of(table, comparison.columns());
  }

  /**
   * Where a record and a table disagree, whether or not there is a channel: all that an
   * installation would refuse the record for, and beside that what differs without harm.
   *
   * @param table as for {@link #print(Connection, String)}
   * @param rowType what a row is to be decoded to
   * @throws IllegalArgumentException if the name is none, or the type cannot hold a row
   */
  public static Fit fit(Connection connection, String table, Class<?> rowType) throws SQLException {
    return fit(connection, TableName.parse(Objects.requireNonNull(table, "table")), rowType);
  }

  /** As {@link #fit(Connection, String, Class)}, with the name as PostgreSQL stores it. */
  public static Fit fit(Connection connection, TableName table, Class<?> rowType)
      throws SQLException {
    Objects.requireNonNull(connection, "connection");
    Objects.requireNonNull(table, "table");
    RowType.requireRow(Objects.requireNonNull(rowType, "rowType"));
    return Comparison.with(connection, table).fit(rowType);
  }
}
