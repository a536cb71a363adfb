package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/** The owner of a trigger's function may store what it likes into its own channel, by the view. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class ChosenIdsTest {

  private static TriggerChannel<JsonNode> channel(String name) {
    return TriggerChannel.on(name + ".thing", JsonNode.class).afterInsert().named(name).build();
  }

  /** One with a schema, a table and a channel of its own. */
  private static Login owner(TestDatabase database, String name) throws Exception {
    var login = database.loginRole(name, "pgonce_installer");
    database.execute("create schema %s authorization %s".formatted(name, login.user()));
    run(login, "create table %s.thing (id int)".formatted(name));
    PgOnce.using(login.dataSource()).install(channel(name));
    return login;
  }

  private static void run(Login login, String sql) throws SQLException {
    try (var connection = login.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Of ids, that were given to others or will be, and of keys, that stand for a row's id. */
  @Test
  void h36_whatIdsAndKeysAnOwnerChoosesIsItsOwnChannelsMatterAlone(TestDatabase database)
      throws Exception {
    var mine = owner(database, "mine");
    var theirs = owner(database, "theirs");
    run(theirs, "insert into theirs.thing values (1)");
    run(
        mine,
        """
        insert into pgonce.into_mine (subscription_id, id, payload, order_key)
        select %d, i, '{}', chr(1) || i + 1 from nextval('pgonce.notification_id') as n, unnest(array[-1, 0, n - 1, n, n + 1, n + 2, n + 3, 9223372036854775806]) as i
        """
            .formatted(
                database.queryLong(
                    "select s.id from pgonce.subscription s where s.of_channel = 'mine'")));
    assertThatThrownBy(() -> run(mine, "select setval('pgonce.notification_id', 1)"))
        .hasMessageContaining("permission denied for sequence notification_id");
    var handled = new AtomicInteger();
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.listen(channel("theirs"), (thing, tx) -> handled.incrementAndGet()).start();
      run(theirs, "insert into theirs.thing values (2), (3)");
      Awaitility.await().until(() -> handled.get() == 3);
    }
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id where s.of_channel = 'theirs'"))
        .isZero();
    // Who writes with an id that is there already, in its own channel.
    assertThatThrownBy(() -> run(mine, "insert into mine.thing values (1)"))
        .hasMessageContaining("notification_pkey");
  }
}
