package org.pgonce.internal.handle;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGConnection;
import org.postgresql.copy.PGCopyOutputStream;
import org.postgresql.jdbc.AutoSave;

/** COPY in a handler, by what each driver offers for it. */
@PgTest
class GuardedCopyTest {

  private static final byte[] ROWS = "1\n2\n3\n".getBytes(UTF_8);

  @ParameterizedTest
  @EnumSource(names = "PGJDBC_NG", mode = EnumSource.Mode.EXCLUDE)
  void copyByPgjdbcIsPartOfTheHandlersWork(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      assertThat(row.handlers().isWrapperFor(PGConnection.class)).isTrue();
      var copy = row.handlers().unwrap(PGConnection.class).getCopyAPI();
      assertThat(copy.copyIn("COPY effect FROM STDIN", new StringReader("1\n2\n"))).isEqualTo(2);
      assertThat(
              copy.copyIn(
                  "COPY effect FROM STDIN", new ByteArrayInputStream("3\n".getBytes(UTF_8))))
          .isEqualTo(1);
      var out = new StringWriter();
      assertThat(copy.copyOut("COPY effect TO STDOUT", out)).isEqualTo(3);
      assertThat(out.toString()).isEqualTo("1\n2\n3\n");
      row.guard().undo();
      assertThat(row.effects()).isZero();
      assertThatThrownBy(() -> copy.copyIn("COPY effect FROM STDIN", new StringReader("")))
          .hasMessageContaining("has ended");
      row.deleteAndCommit();
      assertThat(row.effects()).isZero();
    }
  }

  @Test
  void copyByPgjdbcNgIsPartOfTheHandlersWork(TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, Source.PGJDBC_NG)) {
      var ng = row.handlers().unwrap(com.impossibl.postgres.api.jdbc.PGConnection.class);
      ng.copyFrom("COPY effect FROM STDIN", new ByteArrayInputStream(ROWS));
      var out = new ByteArrayOutputStream();
      ng.copyTo("COPY effect TO STDOUT", out);
      assertThat(out.toByteArray()).isEqualTo(ROWS);
      assertThatThrownBy(ng::commit).hasMessageContaining("is refused");
      assertThatThrownBy(() -> ng.copyFrom("COMMIT", new ByteArrayInputStream(ROWS)))
          .hasMessageContaining("is refused");
      assertThatThrownBy(() -> ng.setStrictMode(true)).hasMessageContaining("is refused");
      row.guard().undo();
      assertThatThrownBy(() -> ng.copyTo("COPY effect TO STDOUT", out))
          .hasMessageContaining("has ended");
      row.deleteAndCommit();
      assertThat(row.effects()).isZero();
    }
  }

  /** The driver would wait for its end for ever, and not even an interrupt ends that. */
  @ParameterizedTest
  @EnumSource(names = "PGJDBC_NG", mode = EnumSource.Mode.EXCLUDE)
  void h43_aCopyIsNotLeftOpen(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var pgjdbc = row.handlers().unwrap(PGConnection.class);
      var copies = pgjdbc.getCopyAPI();
      assertThatThrownBy(() -> copies.copyIn("COPY effect FROM STDIN"))
          .hasMessageContaining("copyIn(String) is refused");
      assertThatThrownBy(() -> copies.copyOut("COPY effect TO STDOUT"))
          .hasMessageContaining("copyOut(String) is refused");
      assertThatThrownBy(() -> new PGCopyOutputStream(pgjdbc, "COPY effect FROM STDIN"))
          .hasMessageContaining("is refused");
      row.handle("INSERT INTO effect VALUES (1)");
      assertThatThrownBy(() -> row.guard().seal())
          .as("a handler that swallowed it would lose its rows")
          .hasMessageContaining("is refused");
    }
  }

  @Test
  @Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void h43_aStatementWithinACopyIsAFailureAndNoHang(TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, Source.PGJDBC)) {
      var copies = row.handlers().unwrap(PGConnection.class).getCopyAPI();
      var querying =
          new StringReader("") {
            @Override
            public int read(char[] text, int offset, int length) throws IOException {
              try {
                row.handle("SELECT 1");
                return -1;
              } catch (SQLException e) {
                throw new IOException(e);
              }
            }
          };
      assertThatThrownBy(() -> copies.copyIn("COPY effect FROM STDIN", querying))
          .hasMessageContaining("in the middle of another call");
      assertThatThrownBy(() -> row.guard().seal()).isInstanceOf(SQLException.class);
      await().until(() -> row.claimableElsewhere() == 1);
      assertThat(row.effects()).isZero();
    }
  }

  /** Its rest would be the answer to the statement that settles. */
  @Test
  @Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void h44_aCopyToThatIsNotReadToItsEndCostsTheConnection(TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, Source.PGJDBC)) {
      row.handle("INSERT INTO effect VALUES (1)");
      var copies = row.handlers().unwrap(PGConnection.class).getCopyAPI();
      var full =
          new StringWriter() {
            @Override
            public void write(String text) {
              throw new IllegalStateException("full");
            }
          };
      assertThatThrownBy(
              () -> copies.copyOut("COPY (SELECT 1 FROM generate_series(1, 9)) TO STDOUT", full))
          .hasMessageContaining("full");
      assertThatThrownBy(() -> row.guard().seal()).isInstanceOf(SQLException.class);
      assertThat(row.real().isClosed()).isTrue();
      await().until(() -> row.claimableElsewhere() == 1);
      assertThat(row.effects()).isZero();
    }
  }

  /** pgjdbc-ng would wait for ever. */
  @ParameterizedTest
  @EnumSource
  @Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void h45_aCopyAsAPlainStatementIsRefused(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      for (var sql : new String[] {"COPY effect FROM STDIN", "copy effect (id) to stdout csv"}) {
        assertThatThrownBy(() -> row.handle(sql)).hasMessageContaining("is refused");
        assertThatThrownBy(() -> row.handlers().prepareStatement(sql))
            .hasMessageContaining("getCopyAPI()");
      }
      assertThatThrownBy(() -> row.guard().seal())
          .as("a handler that swallowed it would lose its rows")
          .hasMessageContaining("is refused");
    }
  }

  @ParameterizedTest
  @EnumSource(names = "PGJDBC_NG", mode = EnumSource.Mode.EXCLUDE)
  void h44_pgjdbcsLastingSettingsAreRefused(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var pgjdbc = row.handlers().unwrap(PGConnection.class);
      assertThat(pgjdbc.getBackendPID()).isPositive();
      assertThat(pgjdbc.escapeIdentifier("a\"b")).isEqualTo("\"a\"\"b\"");
      assertThatThrownBy(() -> pgjdbc.setAutosave(AutoSave.ALWAYS))
          .hasMessageContaining("setAutosave() is refused");
      assertThatThrownBy(pgjdbc::getLargeObjectAPI)
          .hasMessageContaining("getLargeObjectAPI() is refused");
      assertThatThrownBy(() -> pgjdbc.getCopyAPI().copyOut("COMMIT", new StringWriter()))
          .hasMessageContaining("COMMIT is refused");
    }
  }
}
