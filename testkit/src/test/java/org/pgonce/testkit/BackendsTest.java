package org.pgonce.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

@PgTest
class BackendsTest {

  @Test
  void aBackendIsFoundByNameAndQueryAndTerminated(TestDatabase database) throws Exception {
    var source = database.dataSource();
    source.setApplicationName("victim");
    try (var connection = source.getConnection();
        var statement = connection.createStatement()) {
      statement.execute("SELECT 'a rare text'");
      var pid = database.backends().awaitNamed("victim");
      assertThat(database.backends().running("a rare text")).containsExactly(pid);
      database.backends().terminate(pid);
      assertThatThrownBy(() -> statement.execute("SELECT 1")).isInstanceOf(SQLException.class);
    }
  }

  @Test
  void aStoppedBackendAnswersOnlyAfterItGoesOn(TestDatabase database) throws Exception {
    var source = database.dataSource();
    source.setApplicationName("frozen");
    try (var connection = source.getConnection();
        var statement = connection.createStatement()) {
      var pid = database.backends().awaitNamed("frozen");
      database.backends().sigstop(pid);
      var query =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return statement.execute("SELECT 1");
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      assertThatThrownBy(() -> query.get(300, TimeUnit.MILLISECONDS))
          .isInstanceOf(TimeoutException.class);
      database.backends().sigcont(pid);
      assertThat(query.get(10, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void noSignalGoesToAProcessThatIsNoBackend(TestDatabase database) {
    var self = (int) ProcessHandle.current().pid();
    assertThatThrownBy(() -> database.backends().sigstop(self))
        .hasMessageContaining("is no backend of");
  }
}
