package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.pgonce.ChannelOptions;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/** H26: the writer's context by each form of trigger, and what a deferred one does not go with. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class DeferredContextTest {

  private static final ChannelOptions FILTERED =
      ChannelOptions.DEFAULT.withSubscription("acme", Map.of("tenant", "acme"));

  private static final String CONTEXTS =
      "select string_agg(coalesce(context::text, '-'), ' ' order by id) from pgonce.notification where subscription_id > 0";

  private static final String ADD_FILTER =
      "select pgonce.install_channel('thing_inserted', 'EXACTLY_ONCE', 'trigger on thing', '{\"acme\": {\"tenant\": \"acme\"}}')";

  @BeforeEach
  void table(TestDatabase database) throws SQLException {
    database.execute("create table thing (id int not null)");
  }

  private static TriggerChannelBuilder<JsonNode> thing(TriggerForm form) {
    return TriggerChannel.on("thing", JsonNode.class).afterInsert().form(form);
  }

  @Test
  void h26_aDefinitionWithADeferredTriggerAndAFilterIsRefused() {
    assertThatThrownBy(() -> thing(TriggerForm.DEFERRED).options(FILTERED).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("has a subscription with a filter and a deferred trigger")
        .hasMessageContaining("take TriggerForm.ROW");
    thing(TriggerForm.ROW).options(FILTERED).build();
  }

  @Test
  void h26_aFilterIsRefusedWhereADeferredTriggerIsInstalledAlsoBySqlAlone(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(thing(TriggerForm.DEFERRED).build());
    var refused =
        "subscription \"acme\" of channel \"thing_inserted\" has a filter, and a deferred";
    assertThatThrownBy(() -> database.execute(ADD_FILTER)).hasMessageContaining(refused);
    // By Java too: the filter cannot come before the other form.
    var filtered = thing(TriggerForm.ROW).options(FILTERED).build();
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(filtered))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(refused)
        .hasMessageContaining("first install the channel with another form of trigger");

    PgOnce.using(database.dataSource()).install(thing(TriggerForm.ROW).build());
    PgOnce.using(database.dataSource()).install(filtered);
    assertThat(
            database.queryLong("select count(*) from pgonce.subscription where filter is not null"))
        .isOne();
  }

  /** A definition leaves the subscriptions that it does not name as they are. */
  @Test
  void h26_aDeferredTriggerIsRefusedWhereASubscriptionHasAFilter(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(thing(TriggerForm.ROW).options(FILTERED).build());
    var deferred = thing(TriggerForm.DEFERRED).build();
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(deferred))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("subscription \"acme\" of channel \"thing_inserted\" has a filter");
    try (var connection =
        database.loginRole("looks", "pgonce_listener").dataSource().getConnection()) {
      assertThat(Triggers.plan(connection, deferred).obstacles())
          .anyMatch(line -> line.contains("has a filter"));
    }
    database.execute("select pgonce.drop_subscription('thing_inserted', 'acme')");
    PgOnce.using(database.dataSource()).install(deferred);
  }

  @ParameterizedTest
  @EachForm
  void h26_aDeferredTriggerStoresTheContextOfTheEndAndOthersThatOfTheWrite(
      TriggerForm form, TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(thing(form).build());
    database.execute(
        """
        begin;
        select pgonce.set_context('user', 'first');
        insert into thing values (1);
        select pgonce.set_context('user', 'last');
        commit
        """);
    assertThat(database.queryString(CONTEXTS))
        .isEqualTo("{\"user\": \"%s\"}", form == TriggerForm.DEFERRED ? "last" : "first");
  }

  @ParameterizedTest
  @EachForm
  void api_aNumberOrABooleanOfTheSettingIsTakenAsItsText(TriggerForm form, TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(thing(form).build());
    database.execute(
        "set pgonce.context = '{\"tenant\": 42, \"vip\": true, \"a\": \"b\"}'; insert into thing values (1)");
    database.execute(
        "set pgonce.context = '{\"tenant\": 42, \"a\": null}'; insert into thing values (2)");
    assertThat(database.queryString(CONTEXTS))
        .isEqualTo("{\"a\": \"b\", \"vip\": \"true\", \"tenant\": \"42\"} -");
  }
}
