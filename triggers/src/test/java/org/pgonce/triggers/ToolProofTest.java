package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Texts of a migration of one's own. */
@PgTest
class ToolProofTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "'${x}'",
        "E'${x}'",
        "E'\\${x}'",
        "E'\\\\${x}'",
        "E'\\\\\\${x}'",
        "E'a\\\rb\\\\\r'"
      })
  void h83_aTextThatAToolWouldReplaceMeansTheSame(String text, TestDatabase database)
      throws SQLException {
    var sql = "select " + text;
    var printed = new Migration(sql, "").up();
    assertThat(printed).doesNotContain("${").doesNotContain("\r");
    assertThat(database.queryString(printed)).isEqualTo(database.queryString(sql));
  }
}
