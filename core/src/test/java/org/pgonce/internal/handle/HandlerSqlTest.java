package org.pgonce.internal.handle;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HandlerSqlTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "COMMIT",
        "commit work",
        "COMMIT AND CHAIN",
        "COMMIT PREPARED 'x'",
        "end",
        "END TRANSACTION",
        "abort",
        "rollback",
        "ROLLBACK WORK",
        "ROLLBACK TRANSACTION AND CHAIN",
        "ROLLBACK PREPARED 'x'",
        "PREPARE TRANSACTION 'x'",
        "COPY t FROM STDIN",
        "copy (select 1) to stdout csv",
        "/* a */ Commit -- b",
        "{commit}",
        "select 1; commit",
        "insert into t values (';'); commit;",
      })
  void h44_whatEndsTheTransactionIsRefusedAndFails(String sql) {
    assertThat(HandlerSql.read(sql).refusal()).isNotNull().matches(Refusal::endsTransaction);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "PREPARE p AS SELECT 1",
        "SET search_path = x",
        "set role postgres",
        "SET SESSION x.y = 1",
        "SET SESSION AUTHORIZATION bob",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        "SET TIME ZONE 'UTC'",
        "SET TRANSACTION READ ONLY",
        "SET LOCAL SESSION AUTHORIZATION bob",
        "SET local.x = 1",
        "SET \"local\" = 1",
        "RESET ALL",
        "reset role",
        "DISCARD ALL",
        "DISCARD TEMP",
        "LISTEN x",
        "UNLISTEN *",
        "DEALLOCATE ALL",
        "DEALLOCATE x",
        "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
        "declare c binary insensitive no scroll cursor with hold for select 1",
        "update t set a = 1; set role x",
      })
  void h44_whatOutlivesTheTransactionIsRefused(String sql) {
    assertThat(HandlerSql.read(sql).refusal()).isNotNull().matches(r -> !r.endsTransaction());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "select 1",
        "SELECT 'commit; rollback'",
        "  \n insert into t values (1);  ",
        "with x as (select 1) delete from t",
        "update t set commit = 1; delete from t",
        "SET LOCAL search_path = x",
        "set local role bob",
        "SET LOCAL TIME ZONE 'UTC'",
        "SET LOCAL transaction_timeout = '1s'",
        "SET CONSTRAINTS ALL DEFERRED",
        "SHOW search_path",
        "savepoint mine",
        "release mine",
        "RELEASE SAVEPOINT mine",
        "ROLLBACK TO mine",
        "rollback transaction to savepoint mine",
        "BEGIN",
        "start transaction read only",
        "SET LOCAL transaction_read_only = on",
        "NOTIFY x",
        "{call p()}",
        "DO $$ BEGIN PERFORM 1; END $$",
        "CALL p()",
        "EXECUTE p",
        "DECLARE c CURSOR FOR SELECT 1",
        "DECLARE c CURSOR WITHOUT HOLD FOR SELECT 1",
        "DECLARE c CURSOR FOR WITH hold AS (SELECT 1) SELECT * FROM hold",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1; SELECT 2'",
        "CREATE TEMP TABLE t (a int) ON COMMIT DROP",
        "COPY t FROM '/tmp/t'",
        "LOCK TABLE t",
      })
  void ordinarySqlIsLetThrough(String sql) {
    assertThat(HandlerSql.read(sql).refusal()).isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "select set_config('app.tenant', 'x', false)",
        "SELECT pg_catalog.Set_Config('app.tenant', ?, ?)",
        "select set_config(?, ?, false)",
        "select set_config('app.tenant', 'x', 1 < 2)",
        "select set_config('app.a', 'x', true), set_config('app.b', 'x', false)",
        "insert into t values (1); select set_config('app.tenant', 'true', false)",
        "select set_config('app.tenant', 'x, true)', false)",
        "select set_config(is_local => false, setting_name => 'app.b', new_value => 'true')",
        "select set_config('it''s, true', 'x'",
        "select set_config('app.tenant', 'x', ? = true)",
        "select set_config('app.tenant', 'x', ? >= true)",
        "do $$ begin perform set_config('app.tenant', 'x', false); end $$",
      })
  void h58_aSettingThatIsKeptIsNoticed(String sql) {
    assertThat(HandlerSql.read(sql).refusal()).isNull();
    assertThat(HandlerSql.read(sql).keepsSetting()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "select set_config('app.tenant', ?, true)",
        "select pg_catalog.set_config( 'app.tenant' , lower(concat(?, '(')) , TRUE )",
        "select set_config('app.tenant', 'x', is_local => true), 1",
        "do $$ begin perform set_config('app.tenant', 'x', true); end $$",
        "select 'set_config(''app.tenant'', ''x'', false)'",
        // Those are read and set back.
        "select set_config('search_path', 'x', false)",
        "select set_config( 'timezone', ?, ?)",
        "select set_config('pgonce.context', ?, false)",
        "select 1",
        "set local app.tenant = 'x'",
      })
  void h58_aSettingThatEndsOrIsSetBackIsNot(String sql) {
    assertThat(HandlerSql.read(sql).keepsSetting()).isFalse();
  }

  @Test
  void aRefusalSaysWhatWhereWhyAndWhatToDo() {
    var read = HandlerSql.read("commit");
    assertThat(read.refusal()).isNotNull();
    var exception = read.refusal().exception(read.what(), "channel \"author\", id 17");
    assertThat(exception.getSQLState()).isEqualTo("25000");
    assertThat(exception.getMessage())
        .startsWith("COMMIT is refused in the handler of channel \"author\", id 17: ")
        .contains("pgonce ends the transaction itself")
        .contains("Instead: to have all undone and tried again, throw");
  }

  @Test
  void h54_whatWouldReachTheNextHandlerOfABatchIsKnownByItsText() {
    for (var sql :
        new String[] {
          "set local lock_timeout = '1s'",
          "SET CONSTRAINTS ALL DEFERRED",
          "select 1; set local app.tenant = 'x'",
          "select set_config('app.tenant', ?, true)",
          "select pg_catalog.\"set_config\" (?, ?, true)",
          "do $$ begin SET LOCAL app.tenant = 'x'; end $$"
        }) {
      assertThat(HandlerSql.read(sql).changesSettings()).as(sql).isTrue();
    }
    for (var sql :
        new String[] {
          "update note set local = 'x' where id = ?",
          "insert into note values ('set local app.tenant')",
          "select pg_catalog.set_config( 'pgonce.context', ?, true)",
          "SELECT p.* FROM (SELECT pg_catalog.set_config('pgonce.depth', ?, true) OFFSET 0) AS d (depth)",
          "do $$ begin update setting set local_time = now(); end $$"
        }) {
      assertThat(HandlerSql.read(sql).changesSettings()).as(sql).isFalse();
    }
  }
}
