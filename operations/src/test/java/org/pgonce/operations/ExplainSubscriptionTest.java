package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;

/** The advice is about one subscription: to follow it leaves the others of the channel alone. */
@PgTest(PgOnceInstalled.class)
@Tag("versions")
class ExplainSubscriptionTest extends ExplainStage {

  private static final Pattern CALL = Pattern.compile("SELECT pgonce\\.(\\w+)\\(.*?\\)(?=[.;])");
  private static final String LEFT_OF_MAIL =
      "select count(*) from pgonce.dead_letter_status where channel = 'two' and subscription = 'mail'";

  private void installTwo(String keyOrder) throws Exception {
    stage.database.execute(
        "select pgonce.install_channel('two', 'EXACTLY_ONCE', 'published', '{\"mail\": null, \"billing\": null}', key_order => '%s')"
            .formatted(keyOrder));
  }

  private long publishTwo() throws Exception {
    return stage.database.queryLong("select pgonce.publish('two', '1', order_key => 'a')");
  }

  private void bury(long id) throws Exception {
    stage.database.execute(
        "select pgonce.bury(n.subscription_id, n.id, 0, null, 1, 'REJECTED', 'not wanted') from pgonce.notification n where n.subscription_id > 0 and n.id = "
            + id);
  }

  /** What the advice for billing says to call. */
  private List<String> calls(String id) throws Exception {
    return CALL.matcher(
            stage.database.queryString(
                "select advice from pgonce.explain('two', %s, 'billing')".formatted(id)))
        .results()
        .map(call -> call.group())
        .toList();
  }

  @Test
  void ops_toFollowTheAdviceOfOneSubscriptionLeavesTheOthersDeadLetters() throws Exception {
    installTwo("NONE");
    for (var each : List.of("redrive", "discard")) {
      var id = publishTwo();
      bury(id);
      var call =
          calls(String.valueOf(id)).stream().filter(one -> one.contains(each)).findAny().get();
      assertThat(stage.database.queryLong(call)).isEqualTo(1);
    }
    assertThat(stage.database.queryLong(LEFT_OF_MAIL)).isEqualTo(2);
    stage.database.execute("delete from pgonce.scheduled where subscription_id > 0");
    bury(publishTwo());
    var all = calls("null").get(0);
    assertThat(all).contains("pgonce.redrive");
    assertThat(stage.database.queryLong(all)).isEqualTo(1);
    assertThat(stage.database.queryLong(LEFT_OF_MAIL)).isEqualTo(3);
  }

  @Test
  void ops_toFollowTheAdviceOfOneSubscriptionLeavesWhatBlocksTheOthers() throws Exception {
    installTwo("DEAD_LETTER_BLOCKS");
    bury(publishTwo());
    var behind = publishTwo();
    var calls = calls(String.valueOf(behind));
    assertThat(calls).hasSize(2);
    assertThat(stage.database.queryLong(calls.get(1))).isEqualTo(1);
    assertThat(stage.database.queryLong(LEFT_OF_MAIL)).isEqualTo(1);
  }

  @Test
  void ops_toFollowTheAdviceOfOneSubscriptionLeavesTheOthersPausedAndUntilTheirTime()
      throws Exception {
    installTwo("NONE");
    stage.database.execute(
        "select pgonce.publish('two', '1', delay => '1 hour'), pgonce.pause('two', 'mail server is down', 'mail'), pgonce.pause('two', 'no money', 'billing')");
    assertThat(stage.database.queryLong(calls("null").get(0))).isEqualTo(1);
    assertThat(
            stage.database.queryString(
                "select pause_reason from pgonce.channel_status where channel = 'two' and subscription = 'mail'"))
        .isEqualTo("mail server is down");
    assertThat(stage.database.queryLong(calls("null").get(0))).isEqualTo(1);
  }
}
