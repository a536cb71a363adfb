package org.pgonce.operations.internal.doctor;

import java.sql.SQLException;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.sql.Statements;

/**
 * Looks for one kind of trouble.
 *
 * @param name of what it finds
 */
public record Check(String name, Search search) {

  @FunctionalInterface
  public interface Search {
    List<Finding> find(Statements statements) throws SQLException;
  }

  /**
   * A query with a row for each finding.
   *
   * @param sql what was found, in words
   */
  static Check of(Finding.Severity severity, String name, String sql, String why, String advice) {
    return of(severity, name, sql, why, row -> advice);
  }

  /**
   * The same, with the advice in the second column: it names the channel, the table, the process.
   */
  static Check of(Finding.Severity severity, String name, String sql, String why) {
    return of(severity, name, sql, why, row -> String.valueOf(row.get(1)));
  }

  private static Check of(
      Finding.Severity severity,
      String name,
      String sql,
      String why,
      Function<List<@Nullable Object>, String> advice) {
    return new Check(
        name,
        statements ->
            statements.rows(sql).values().stream()
                .map(
                    row ->
                        new Finding(
                            severity, name, String.valueOf(row.get(0)), why, advice.apply(row)))
                .toList());
  }

  /** The same, where the server is of that version or a later one. */
  Check since(int version) {
    return where("SELECT current_setting('server_version_num')::integer >= " + version);
  }

  /** The same, where that is true. */
  Check where(String condition) {
    return new Check(
        name, statements -> statements.isTrue(condition) ? search.find(statements) : List.of());
  }
}
