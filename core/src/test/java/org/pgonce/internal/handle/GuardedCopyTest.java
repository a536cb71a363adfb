package org.pgonce.internal.handle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.StringReader;
import java.sql.SQLException;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.internal.jdbc.PgjdbcNg;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGConnection;

/** COPY is refused in a handler: while one is open, the connection serves no other call. */
@PgTest
class GuardedCopyTest {

  /** pgjdbc-ng would wait for ever. */
  @ParameterizedTest
  @EnumSource
  @Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void h45_aCopyAsAPlainStatementIsRefused(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      for (var sql : new String[] {"COPY effect FROM STDIN", "copy effect (id) to stdout csv"}) {
        assertThatThrownBy(() -> row.handle(sql)).hasMessageContaining("is refused");
        assertThatThrownBy(() -> row.handlers().prepareStatement(sql))
            .hasMessageContaining("unnest(?)");
      }
      assertThatThrownBy(() -> row.guard().seal())
          .as("a handler that swallowed it would lose its rows")
          .hasMessageContaining("is refused");
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_theDriversOwnInterfaceIsRefused(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var drivers =
          PgjdbcNg.made(row.real())
              ? com.impossibl.postgres.api.jdbc.PGConnection.class
              : PGConnection.class;
      assertThat(row.real().isWrapperFor(drivers)).isTrue();
      assertThat(row.handlers().isWrapperFor(drivers)).isFalse();
      assertThatThrownBy(() -> row.handlers().unwrap(drivers))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining(drivers.getName() + ") is refused")
          .hasMessageContaining("unnest(?)");
    }
  }

  @ParameterizedTest
  @EnumSource
  @Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void h43_aStatementWithinAnotherIsRefusedAndDoesNotHang(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source);
        var outer = row.handlers().prepareStatement("INSERT INTO effect SELECT length(?::text)")) {
      var querying =
          new StringReader("abc") {
            @Override
            public int read(char[] text, int offset, int length) throws IOException {
              try {
                row.handle("SELECT 1");
                return super.read(text, offset, length);
              } catch (SQLException e) {
                throw new IOException(e);
              }
            }
          };
      assertThatThrownBy(
              () -> {
                outer.setCharacterStream(1, querying);
                outer.execute();
              })
          .hasStackTraceContaining("in the middle of another call");
      row.guard().undo();
      row.deleteAndCommit();
      assertThat(row.effects()).isZero();
    }
  }
}
