package org.pgonce.benchmarks.forms;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.benchmarks.figures.MiscountException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What is timed is what was to be timed. */
@Tag("all")
@PgTest
class FieldTest {

  private static final int BULK_ROWS = 1_000;

  @Test
  void aTurnWritesItsRowsAndTriggersThatDoNotStoreThemAreFound(TestDatabase database)
      throws Exception {
    var all = Kinds.all();
    try (var field = Field.prepare(database, all)) {
      for (var operation : Operation.values()) {
        var kinds = all.get(operation);
        var byHand = kinds.get(1);
        var pgonce = kinds.get(kinds.size() - 1);
        for (var kind : List.of(byHand, pgonce)) {
          assertThat(field.rowsPerSecond(operation, kind, BULK_ROWS)).isPositive();
          assertWritten(database, operation, kind);

          database.execute("alter table " + kind.table() + " disable trigger user");
          assertThatThrownBy(() -> field.rowsPerSecond(operation, kind, BULK_ROWS))
              .isInstanceOf(MiscountException.class)
              .hasMessageContaining(operation.label() + ", " + kind.label())
              .hasMessageContaining("0 were stored by hand and 0 by pgonce");
          database.execute("alter table " + kind.table() + " enable trigger user");
        }
      }
    }
  }

  private static void assertWritten(TestDatabase database, Operation operation, Kind kind)
      throws Exception {
    var rows = operation.warmUpRows() + operation.rowsOf(BULK_ROWS);
    // What it works on is inserted before, by the thousand.
    var before = (rows + 999) / 1_000 * 1_000;
    var expected =
        switch (operation) {
          case BULK_UPDATE, SHARED_UPDATE -> new long[] {before, rows};
          case BULK_DELETE, SHARED_DELETE -> new long[] {before - rows, 0};
          default -> new long[] {rows, 0};
        };
    var table = " from " + kind.table();
    assertThat(database.queryLong("select count(*)" + table))
        .as(operation.label())
        .isEqualTo(expected[0]);
    assertThat(database.queryLong("select count(*)" + table + " where price = id * 0.01 + 1"))
        .as(operation.label())
        .isEqualTo(expected[1]);
  }
}
