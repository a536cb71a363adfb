package org.pgonce.operations.internal.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What a transaction says of its end. */
@PgTest
class DatabaseTest {

  private static final String OF_EACH_TYPE =
      """
      select timestamptz '2026-11-28 11:00+01', interval '1 month 2 days 02:03:04.5', interval '-3 hours', interval '0',
             jsonb '{"a": 1}', array['x', null], array[1, 2]::bigint[], null::interval, null::jsonb, null::text[]
      """;

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

  @Test
  void bothDriversReadAndAreHeldToTheSame(TestDatabase database) throws SQLException {
    database.execute("create table public.done (what text)");
    var read = new ArrayList<Rows>();
    for (var source : List.of(database.dataSource(), database.ngDataSource())) {
      try (var opened = Database.open(source, 5, 2, e -> new RefusedException(e.getMessage(), e))) {
        read.add(opened.read(OF_EACH_TYPE));
        assertThatThrownBy(() -> opened.read("insert into public.done values ('it')"))
            .isInstanceOf(RefusedException.class)
            .hasMessageContaining("read-only");
        opened.write(
            false, sql -> sql.rows("insert into public.done values ('it') returning what"));
      }
    }
    assertThat(read.get(1)).isEqualTo(read.get(0));
    assertThat(read.get(0).values().get(0))
        .containsExactly(
            Instant.parse("2026-11-28T10:00:00Z"),
            Duration.parse("P32DT2H3M4.5S"),
            Duration.parse("PT-3H"),
            Duration.ZERO,
            new JsonText("{\"a\": 1}"),
            Arrays.asList("x", null),
            List.of(1L, 2L),
            null,
            null,
            null);
    assertThat(database.queryLong("select count(*) from public.done")).isEqualTo(2);
  }
}
