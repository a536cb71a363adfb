package org.pgonce.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.stage.OnCall;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H72: what a copy is known by, and what adopting does; what dumps make of it is in DumpTest. */
@PgTest(PgOnceInstalled.class)
class CopyTest {

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws Exception {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  @Test
  void h72_aTemplatesCopyIsRefusedWithWhatToDoAndTheOriginalIsNot() throws Exception {
    stage.publish(2);
    var copy =
        new Login(
            stage.database.host(),
            stage.database.port(),
            stage.database.name() + "_copy",
            stage.database.user(),
            stage.database.password());
    stage.dataSource.close();
    maintain("create database %s template %s".formatted(copy.database(), stage.database.name()));
    try (var refused = listening(PgOnce.using(copy.dataSource()))) {
      assertThatThrownBy(refused::start)
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("database \"" + copy.database() + "\" is a copy")
          .hasMessageContaining("it was made from another database as its template")
          .hasMessageContaining("SELECT pgonce.adopt('why')");
    } finally {
      maintain("drop database " + copy.database() + " with (force)");
    }
    try (var original = listening(PgOnce.using(stage.database.dataSource()))) {
      original.start();
      stage.awaitSoon(() -> stage.eachOnce(2));
    }
  }

  @Test
  void h72_whoMarksItAsACopyKeepsListenersAwayUntilItIsAdopted() throws Exception {
    stage.publish(3);
    stage.database.execute("update pgonce.installation set home = ''");
    var waiting = listening(stage.pgonce());
    assertThatThrownBy(waiting::start).hasMessageContaining("is a copy");

    stage.onCall().by("Anna").adopt("the snapshot is the original now");
    var adopted = listening(stage.pgonce());
    adopted.start();
    stage.awaitSoon(() -> stage.eachOnce(3));
    assertThat(
            stage.database.queryString(
                "select concat_ws(' ', what, channel, operator, reason) from pgonce.operation_log where what = 'ADOPT'"))
        .isEqualTo("ADOPT * Anna the snapshot is the original now");
  }

  @Test
  void h72_adoptingLeavesWhatWaitsItsKeysAndGivesNewOnesIdsFarAhead() throws Exception {
    stage.publish(1);
    var before =
        stage.database.queryLong(
            "select max(id) from pgonce.notification where subscription_id > 0");
    var epoch = stage.database.queryString("select epoch from pgonce.installation");

    stage.database.execute("select pgonce.adopt('once'); select pgonce.adopt('and again')");

    assertThat(stage.database.queryString("select epoch from pgonce.installation"))
        .isEqualTo(epoch);
    assertThat(
            stage.database.queryLong(
                "select id from pgonce.notification where subscription_id > 0"))
        .isEqualTo(before);
    stage.publish(1);
    assertThat(
            stage.database.queryLong(
                "select max(id) from pgonce.notification where subscription_id > 0"))
        .isBetween(before + 2_000_000_000_000L, before + 2_000_000_001_000L);
    assertThat(
            stage.database.queryLong(
                "select count(*) from pg_attribute where attrelid = 'pgonce.installation'::regclass and attisdropped"))
        .as("columns that were dropped")
        .isOne();
  }

  @Test
  void h72_aCopyBeginsWithNothingAsItsErrorAdvises() throws Exception {
    stage.publish(2);
    stage.database.execute("update pgonce.installation set home = ''");
    var advice = stage.database.queryString("select pgonce.copy_of_another()");
    stage.database.execute(advice.substring(advice.indexOf("TRUNCATE")));
    stage.database.execute("select pgonce.adopt('a test system')");
    listening(stage.pgonce()).start();
    stage.publish(1);
    stage.awaitSoon(() -> stage.effects() == 1);
  }

  @Test
  void h72_onlyAnAdministratorAdoptsAndGivesAReason() throws Exception {
    var admin = stage.database.loginRole("admin", "pgonce_admin");
    var listener = stage.database.loginRole("listener", "pgonce_listener");
    assertThatThrownBy(() -> new OnCall(listener.dataSource()).adopt("I may not"))
        .hasMessageContaining("permission denied");
    assertThatThrownBy(() -> stage.database.execute("select pgonce.adopt(' ')"))
        .hasMessageContaining("is not adopted without a reason");
    new OnCall(admin.dataSource()).adopt("I may");
  }

  @Test
  void h72_installingAgainDoesNotAdopt() throws Exception {
    stage.database.execute("update pgonce.installation set home = ''");
    PgOnce.using(stage.database.dataSource()).install(Stage.ORDERS);
    stage.database.execute(PgOnce.migration(Stage.ORDERS));
    assertThat(stage.database.queryString("select pgonce.copy_of_another()")).isNotNull();
  }

  private static PgOnce listening(PgOnce pgonce) {
    return pgonce.listen(Stage.ORDERS, Stage.QUICK, Stage::effect);
  }

  private void maintain(String sql) throws SQLException {
    var server = stage.database.server();
    var login =
        new Login(
            server.host(), server.port(), server.database(), server.user(), server.password());
    try (var connection = login.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
