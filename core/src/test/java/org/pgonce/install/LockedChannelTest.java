package org.pgonce.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H84: installations of one channel wait for each other, and not for ever. */
@PgTest
class LockedChannelTest {

  private static final String INSTALL =
      "select pgonce.install_channel('orders', 'EXACTLY_ONCE', 'publish')";
  private static final String NOT_INSTALLED =
      "channel \"orders\" was not installed: another transaction that installs, changes or drops it is still open";
  private static final String SET = "select current_setting('lock_timeout')";

  @Test
  void h84_anInstallationBesideAnotherOneGivesUpAndSaysWhy(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install();
    try (var first = database.unpooled().getConnection();
        var second = database.unpooled().getConnection();
        var holding = first.createStatement();
        var waiting = second.createStatement()) {
      first.setAutoCommit(false);
      second.setAutoCommit(false);
      holding.execute(INSTALL); // the channel is new: there is no row to lock yet
      assertGivesUp(waiting, INSTALL, NOT_INSTALLED);
      first.commit();
      holding.execute("select from pgonce.channel where name = 'orders' for update");
      assertGivesUp(waiting, INSTALL, NOT_INSTALLED);
      first.rollback();
      waiting.execute("set local lock_timeout = '200ms'");
      waiting.execute(INSTALL);
      assertThat(text(waiting)).as("what was set before").isEqualTo("200ms");
      second.rollback();
      waiting.execute(INSTALL);
      assertThat(text(waiting)).isEqualTo("0");
    }
  }

  private static void assertGivesUp(Statement waiting, String sql, String why) throws SQLException {
    waiting.execute("set local lock_timeout = '200ms'");
    assertThatThrownBy(() -> waiting.execute(sql))
        .hasMessageContaining(why)
        .extracting(thrown -> ((SQLException) thrown).getSQLState())
        .isEqualTo("55P03");
    waiting.getConnection().rollback();
  }

  private static String text(Statement statement) throws SQLException {
    try (var row = statement.executeQuery(SET)) {
      row.next();
      return row.getString(1);
    }
  }

  @Test
  void h84_aChangeOfTheModeBesideAnInstallationGivesUpAndSaysWhy(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install();
    database.execute(INSTALL);
    var change = "select pgonce.change_mode('orders', 'AT_MOST_ONCE')";
    try (var first = database.unpooled().getConnection();
        var second = database.unpooled().getConnection();
        var holding = first.createStatement();
        var waiting = second.createStatement()) {
      first.setAutoCommit(false);
      second.setAutoCommit(false);
      holding.execute(INSTALL);
      assertGivesUp(waiting, change, "the mode of channel \"orders\" was not changed");
      first.rollback();
      waiting.execute(change);
      assertThat(text(waiting)).isEqualTo("0");
    }
  }

  /** Where nobody has set a bound. */
  @Test
  @Tag("all")
  void h84_itsOwnBoundIsTenSeconds(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(Channel.of("orders", String.class));
    try (var first = database.unpooled().getConnection();
        var holding = first.createStatement()) {
      first.setAutoCommit(false);
      holding.execute("select from pgonce.channel where name = 'orders' for update");
      try (var second = database.unpooled().getConnection();
          var waiting = second.createStatement()) {
        waiting.execute("set statement_timeout = '20s'");
        assertThatThrownBy(() -> waiting.execute(INSTALL))
            .hasMessageContaining("was not installed: another transaction");
      }
    }
  }
}
