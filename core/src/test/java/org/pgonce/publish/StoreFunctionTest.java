package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGConnection;

/** A channel's store function knows as constants what the channel was installed with. */
@PgTest(PgOnceInstalled.class)
class StoreFunctionTest {

  private static final String STORED =
      "select count(*) from pgonce.notification where subscription_id > 0";

  private TestDatabase database;

  @BeforeEach
  void setUp(TestDatabase fresh) throws SQLException {
    database = fresh;
    install("mails", "");
  }

  private void install(String channel, String settings) throws SQLException {
    database.execute(
        "select pgonce.install_channel('%s', 'EXACTLY_ONCE', 'published'%s)"
            .formatted(channel, settings));
  }

  private static void run(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @Test
  void s12_underASnapshotFromBeforeTheInstallationAKeyStoresOneRowAllTheSame() throws Exception {
    try (var old = database.dataSource().getConnection()) {
      old.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      old.setAutoCommit(false);
      run(old, "select 1");
      install("later", "");
      run(old, "select pgonce.store_later('{}', 'a')");
      assertThatThrownBy(() -> run(old, "select pgonce.store_later('{}', 'a')"))
          .hasMessageContaining("was installed after the snapshot of this transaction")
          .extracting(e -> ((SQLException) e).getSQLState())
          .isEqualTo("40001");
      old.rollback();
    }
    assertThat(database.queryLong(STORED)).isZero();
  }

  /** As a table's row with it in a column of json is. */
  @Test
  void h4_anEscapedNulIsStoredAsItIsHoweverItIsPublished() throws Exception {
    var payload = "'{\"name\": \"a\\u0000b\"}'";
    database.execute("select pgonce.publish('mails', %s)".formatted(payload));
    database.execute(
        "select pgonce.publish_all('mails', json_build_array(%s::json))".formatted(payload));
    database.execute(
        "select pgonce.publish_each('mails', json_build_array(%s::json), '[{}]')"
            .formatted(payload));
    database.execute(
        "select pgonce.publish_all('mails', json_build_array(%1$s::json, %1$s::json))"
            .formatted(payload));
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0 and payload::text = %s"
                    .formatted(payload)))
        .isEqualTo(5);
  }

  /** Those of pgonce.publish have other names: passed over, it would be handled at once. */
  @Test
  void h81_aDelayUnderAnotherNameIsRefusedAndNotHandledAtOnce() throws Exception {
    for (var option : List.of("\"delay\": \"6 hours\"", "\"due_at\": \"2100-01-01\"")) {
      assertThatThrownBy(
              () ->
                  database.execute(
                      "select pgonce.publish_each('mails', '[1, 2]', '[{}, {\"delivery_key\": \"a\", %s}]')"
                          .formatted(option)))
          .hasMessageContaining("no option " + option.substring(0, option.indexOf(':')))
          .hasMessageContaining("delay_us (in microseconds)");
    }
    assertThat(database.queryLong(STORED)).isZero();
  }

  @Test
  void h11_whoInstallsItAnewAsNeverWokenSparesItsWritersTheNotifyAtOnce() throws Exception {
    database.execute(
        "select pgonce_private.fit_gates(array(select s.id from pgonce.subscription s))");
    assertThat(wakeUps()).isOne();
    install("mails", ", wake_ups => 'NEVER'");
    assertThat(wakeUps()).isZero();
  }

  /** How many one publish makes. */
  private int wakeUps() throws SQLException {
    try (var hearing = database.dataSource().getConnection()) {
      run(hearing, "listen pgonce_mails");
      database.execute("select pgonce.publish('mails', '{}')");
      return hearing.unwrap(PGConnection.class).getNotifications(200).length;
    }
  }

  /** As a restore of data alone leaves it: the function stands for the former id. */
  @Test
  void aFunctionOfAnotherIdStoresNothing() throws Exception {
    install("letters", "");
    database.execute(
        """
        alter table pgonce.subscription disable trigger all;
        alter table pgonce.channel disable trigger all;
        update pgonce.channel set name = 'spare' where name = 'mails';
        update pgonce.channel set name = 'mails' where name = 'letters';
        """);
    assertThatThrownBy(() -> database.execute("select pgonce.publish('mails', '{}')"))
        .hasMessageContaining("stores for another channel than \"mails\"")
        .hasMessageContaining("pgonce.adopt");
    // Nor does it help to run the transaction again, where the data is of another database.
    database.execute("update pgonce.installation set home = null");
    try (var other = database.dataSource().getConnection()) {
      other.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      assertThatThrownBy(() -> run(other, "select pgonce.publish('mails', '{}')"))
          .hasMessageContaining("pgonce.adopt");
    }
    assertThat(database.queryLong(STORED)).isZero();
  }

  @Test
  void h77_entriesAreMadeAgainWhereBackslashesEscape() throws Exception {
    database.execute("set standard_conforming_strings = off; select pgonce.adopt('a test')");
    database.execute("select pgonce.publish('mails', '{}')");
    assertThat(database.queryLong(STORED)).isOne();
  }

  @Test
  void whoseSnapshotHasAFormerChannelRunsItsTransactionAgain() throws Exception {
    try (var old = database.dataSource().getConnection()) {
      old.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      old.setAutoCommit(false);
      run(old, "select count(*) from pg_class");
      database.execute("select pgonce.drop_channel('mails')");
      install("mails", "");
      assertThatThrownBy(() -> run(old, "select pgonce.publish('mails', '{}')"))
          .hasMessageContaining("run the transaction again")
          .extracting(thrown -> ((SQLException) thrown).getSQLState())
          .isEqualTo("40001");
    }
  }

  @Test
  void aBroadcastRefusesWhatItCannotKeepBeforeAndAfterAChangeOfMode() throws Exception {
    try (var old = database.dataSource().getConnection()) {
      old.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      old.setAutoCommit(false);
      run(old, "select 1");
      database.execute("select pgonce.change_mode('mails', 'BROADCAST')");
      assertThatThrownBy(
              () -> run(old, "select pgonce.publish('mails', '{}', delivery_key => 'a')"))
          .hasMessageContaining("is a BROADCAST, which stores nothing");
      old.rollback();
    }
    assertThatThrownBy(
            () -> database.execute("select pgonce.publish('mails', '{}', delivery_key => 'a')"))
        .hasMessageContaining("is a BROADCAST, which stores nothing");
  }

  @Test
  void aVersionThatIsNullIsRefused() {
    assertThatThrownBy(
            () -> database.execute("select pgonce.publish('mails', '{}', version => null)"))
        .isInstanceOf(SQLException.class);
  }

  @Test
  void s12_whiteSpaceAroundAPayloadMakesNoOtherPayload() throws Exception {
    database.execute("select pgonce.publish('mails', E'{\"a\":1}\\n', delivery_key => 'a')");
    assertThat(
            database.queryString(
                """
                select stored from pgonce.publish_each('mails', '[{"a":1}]', '[{"delivery_key":"a","same_payload":true}]')
                """))
        .isEqualTo("f");
  }
}
