package org.pgonce.internal.claim;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.PooledByteBufAllocator;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What a claim by key tells of the rows that it did not get. */
@PgTest(PgOnceInstalled.class)
class KeyLookTest {

  private static final int LOOKS = 5_000;
  private static final int LEAKED_BY_EACH = 64;

  private static void look(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row =
            statement.executeQuery(
                "select '0 0 0 0 0 0 0' as seen, array['a', 'b'] as busy, 'c' as walked")) {
      row.next();
      assertThat(requireNonNull(KeyLook.Seen.read(row)).busy()).containsExactly("a", "b");
    }
  }

  /** Otherwise a listener under an order or a limit per key, over pgjdbc-ng, grows for ever. */
  @Test
  void h53_theBusyKeysOfALookKeepNoBufferOfPgjdbcNg(TestDatabase database) throws SQLException {
    try (var connection = database.ngDataSource().getConnection()) {
      look(connection);
      var before = PooledByteBufAllocator.DEFAULT.pinnedDirectMemory();
      for (var i = 0; i < LOOKS; i++) {
        look(connection);
      }
      assertThat(PooledByteBufAllocator.DEFAULT.pinnedDirectMemory() - before)
          .isLessThan((long) LOOKS * LEAKED_BY_EACH / 2);
    }
  }
}
