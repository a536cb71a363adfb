package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.PgOnce;
import org.pgonce.testkit.LoggedPlans;
import org.pgonce.testkit.PackagedServer;
import org.pgonce.testkit.TestDatabase;

/** H89 for trigger channels: from the installation over every form of a trigger to the drop. */
class JitTest {

  private static List<TriggerChannel<?>> channels() {
    var channels = new ArrayList<TriggerChannel<?>>();
    for (var form : List.of(TriggerForm.STATEMENT, TriggerForm.ROW, TriggerForm.DEFERRED)) {
      var suffix = "." + form.name().toLowerCase(Locale.ROOT);
      channels.add(one(form).named("whole" + suffix).build());
      channels.add(
          one(form).columns("id", "name").when("new.id >= 0").named("part" + suffix).build());
      channels.add(one(form).onlyIfChanged("price").named("changed" + suffix).build());
      channels.add(one(form).dueAt("now() + interval '1 hour'").named("due" + suffix).build());
      channels.add(one(form).deliveryKey("id", "price").named("keyed" + suffix).build());
      channels.add(
          one(form)
              .options(ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_PASSES))
              .orderKey("name")
              .named("ordered" + suffix)
              .build());
    }
    return channels;
  }

  private static TriggerChannelBuilder<?> one(TriggerForm form) {
    return TriggerChannel.changesOf("public.thing", Object.class)
        .afterInsert()
        .afterUpdate()
        .form(form);
  }

  @Test
  @Tag("all")
  void h89_noStatementOfATriggerChannelIsCompiled() throws Exception {
    try (var server = PackagedServer.start(LoggedPlans.SETTINGS)) {
      try (var database = LoggedPlans.database(server)) {
        everything(database);
      }
      var plans = LoggedPlans.of(server);
      assertThat(plans.has("INSERT INTO pgonce.notification")).isTrue();
      assertThat(plans.disabled()).as("plans that use what is disabled").isEmpty();
      assertThat(plans.compiled()).as("statements that were compiled").isEmpty();
    }
  }

  private static void everything(TestDatabase database) throws Exception {
    database.execute("create table thing (id int primary key, name text, price numeric)");
    var channels = channels();
    for (var times = 0; times < 2; times++) {
      PgOnce.using(database.dataSource()).install(channels.toArray(TriggerChannel[]::new));
    }
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      assertThat(Triggers.check(connection, channels.toArray(TriggerChannel[]::new))).isEmpty();
      for (var id = 0; id < 8; id++) {
        statement.execute("insert into thing values (%d, 'name %1$d', 1)".formatted(id));
        statement.execute("update thing set price = 2 where id = " + id);
      }
      statement.execute("insert into thing select g, 'name', 1 from generate_series(100, 400) g");
      statement.execute("update thing set price = 3 where id >= 100");
    }
    for (var channel : channels) {
      Triggers.drop(database.dataSource(), channel);
    }
  }
}
