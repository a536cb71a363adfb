package org.pgonce.operations.internal.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What a transaction says of its end. */
@PgTest
class DatabaseTest {

  private static Database open(TestDatabase database, FaultProxy proxy) {
    return Database.open(
        database.login().through(proxy).dataSource(),
        5,
        2,
        e -> new RefusedException(e.getSQLState() + " " + e.getMessage(), e));
  }

  @Test
  void aCommitThatWasNotAnsweredIsNotSaidToHaveFailed(TestDatabase database) throws Exception {
    database.execute("create table public.done (what text)");
    try (var proxy = FaultProxy.to(database);
        var through = open(database, proxy)) {
      proxy.cutAfterForwarding("COMMIT");
      assertThatThrownBy(
              () ->
                  through.write(
                      false,
                      sql -> sql.rows("insert into public.done values ('it') returning what")))
          .isInstanceOf(RefusedException.class)
          .hasMessageContaining("08007")
          .hasMessageContaining("it is not known whether it was done")
          .hasMessageContaining("operation_log");
    }
    assertThat(database.queryLong("select count(*) from public.done")).isEqualTo(1);
  }

  @Test
  void whatIsLostBeforeItsCommitIsNotDone(TestDatabase database) throws Exception {
    database.execute("create table public.done (what text)");
    try (var proxy = FaultProxy.to(database);
        var through = open(database, proxy)) {
      proxy.cutBeforeForwarding("insert into public.done");
      assertThatThrownBy(
              () ->
                  through.write(
                      false,
                      sql -> sql.rows("insert into public.done values ('it') returning what")))
          .isInstanceOf(RefusedException.class)
          .hasMessageNotContaining("not known");
    }
    assertThat(database.queryLong("select count(*) from public.done")).isZero();
  }
}
