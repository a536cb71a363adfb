package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/**
 * H8: rows that logical replication applies, and what check says of triggers that fire for them.
 */
@PgTest(PgOnceInstalled.class)
class ReplicatedTableTest {

  private static TriggerChannel<JsonNode> thing(TriggerForm form) {
    return TriggerChannel.on("thing", JsonNode.class)
        .afterInsert()
        .named("things")
        .form(form)
        .build();
  }

  private static List<String> check(TestDatabase database, TriggerForm form) throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.check(connection, thing(form));
    }
  }

  @Test
  void h08_aTableThatASubscriptionWritesIsTold(TestDatabase database) throws Exception {
    database.execute("create table thing (id int primary key)");
    PgOnce.using(database.dataSource()).install(thing(TriggerForm.ROW));
    assertThat(check(database, TriggerForm.ROW)).isEmpty();
    database.execute("create publication things for table thing");
    database.execute(
        "create subscription \"%s\" connection 'host=%s port=%d dbname=%1$s user=%s password=''%s''' publication things with (create_slot = false, enabled = false, copy_data = false)"
            .formatted(
                database.name(),
                database.host(),
                database.port(),
                database.user(),
                database.password()));
    try {
      assertThat(check(database, TriggerForm.ROW))
          .singleElement()
          .asString()
          .startsWith("channel things: logical replication writes to table public.thing, and those")
          .contains("ALTER TABLE \"public\".\"thing\" ENABLE ALWAYS TRIGGER \"pgonce_things\"");
      database.execute("alter table thing enable always trigger pgonce_things");
      assertThat(check(database, TriggerForm.ROW)).isEmpty();
    } finally {
      // No database with a subscription can be dropped.
      database.execute(
          "alter subscription \"%s\" set (slot_name = none)".formatted(database.name()));
      database.execute("drop subscription \"%s\"".formatted(database.name()));
    }
  }

  @ParameterizedTest
  @EachForm
  void h08_aTriggerThatIsEnabledAlwaysFiresWhereTheRoleIsReplica(
      TriggerForm form, TestDatabase database) throws Exception {
    database.execute("create table thing (id int primary key)");
    PgOnce.using(database.dataSource()).install(thing(form));
    var replicated = "set session_replication_role = replica; insert into thing values (%d)";
    database.execute(replicated.formatted(1));
    database.execute("alter table thing enable always trigger pgonce_things");
    database.execute(replicated.formatted(2));
    database.execute("insert into thing values (3)");
    assertThat(
            database.queryString(
                "select string_agg(payload->>'id', ' ' order by id) from pgonce.notification where subscription_id > 0"))
        .isEqualTo("2 3");
    if (form == TriggerForm.STATEMENT) {
      // The worker that applies rows fires no trigger per statement.
      assertThat(check(database, form))
          .singleElement()
          .asString()
          .contains("\"pgonce_things\" on table public.thing is ENABLE ALWAYS and per statement")
          .endsWith("ALTER TABLE \"public\".\"thing\" ENABLE TRIGGER \"pgonce_things\"");
    } else {
      assertThat(check(database, form)).isEmpty();
    }
  }
}
