package org.pgonce.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.pgonce.Channel;
import org.pgonce.PgOnceException;
import org.postgresql.ds.PGSimpleDataSource;

@PgOnceTest
class CommitCutTest {

  /** The server has it, and the client an exception. */
  @Test
  void api_theCommitIsThereAndItsAnswerLost(PgOnceTester pgonce) throws Exception {
    pgonce.execute("create table seen (one int)");
    try (var cut = CommitCut.before(pgonce.dataSource())) {
      try (var connection = cut.dataSource().getConnection();
          var statement = connection.createStatement()) {
        connection.setAutoCommit(false);
        statement.execute("insert into seen values (1)");
        connection.commit();
        statement.execute("insert into seen values (2)");
        cut.cutNextCommit();
        connection.rollback();
        assertThat(cut.hasCut()).isFalse();
        statement.execute("insert into seen values (3)");
        assertThatThrownBy(connection::commit)
            .isInstanceOfSatisfying(
                SQLException.class, lost -> assertThat(lost.getSQLState()).startsWith("08"));
        assertThat(connection.isValid(5)).isFalse();
      }
      assertThat(cut.hasCut()).isTrue();
      assertThat(pgonce.count("select sum(one) from seen")).isEqualTo(4);
      try (var connection = cut.dataSource().getConnection()) {
        connection.setAutoCommit(false);
        connection.createStatement().execute("insert into seen values (10)");
        connection.commit(); // cut once only
      }
    }
    assertThat(pgonce.count("select sum(one) from seen")).isEqualTo(14);
  }

  @Test
  void api_saysThatTheAddressIsNotKnown(PgOnceTester pgonce) {
    var one = Channel.of("one", Integer.class);
    pgonce.install(one);
    pgonce.publish(one, 1);
    pgonce.publish(one, 2);
    pgonce.execute("create table seen (one int)");
    var silent = PgOnceTester.on(onlyConnections(pgonce.dataSource()));
    var chaos =
        silent
            .chaos(one, (each, tx) -> tx.update("insert into seen values (1)"))
            .loseCommitAnswer();
    assertThatThrownBy(() -> chaos.assertEffectsOnce("select count(*) from seen"))
        .isInstanceOf(PgOnceException.class)
        .hasMessageMatching(
            "loseCommitAnswer needs the server's address, and the DataSource .* does not give it: .*");
  }

  /** The driver waits without a bound for one that accepts and says nothing. */
  @Test
  @Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void api_refusesWhereTheServerDoes() throws Exception {
    var nobody = new PGSimpleDataSource();
    nobody.setPortNumbers(new int[] {1});
    try (var cut = CommitCut.before(nobody)) {
      for (var attempt = 1; attempt <= 2; attempt++) {
        assertThatThrownBy(cut.dataSource()::getConnection)
            .isInstanceOfSatisfying(
                SQLException.class,
                refused -> assertThat(refused.getSQLState()).isEqualTo("08001"));
      }
    }
  }

  /** Of a kind that nobody knows. */
  private static DataSource onlyConnections(DataSource source) {
    return (DataSource)
        Proxy.newProxyInstance(
            CommitCutTest.class.getClassLoader(),
            new Class<?>[] {DataSource.class},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "getConnection" -> source.getConnection();
                  case "isWrapperFor" -> false;
                  default -> throw new UnsupportedOperationException(method.getName());
                });
  }
}
