package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.cli.terminal.Table;
import org.pgonce.operations.internal.sql.Rows;
import org.pgonce.operations.internal.text.CellText;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/** The verbs that only look: for people and for scripts. */
@PgTest(PgOnceInstalled.class)
@Tag("versions")
class LookTest {

  private TestDatabase database;
  private Cli cli;

  @BeforeEach
  void open(TestDatabase fresh) {
    database = fresh;
    cli = new Cli(fresh.login());
  }

  private static List<String> names(JsonNode document) {
    return document.get(0).propertyStream().map(entry -> entry.getKey()).toList();
  }

  @Test
  void statusSaysWhatWaits() throws Exception {
    Cli.publish(database, "1");
    Cli.bury(database, 2, "REJECTED", "no such account");
    var status = cli.run("status", "-o", "json").ends(0).json();
    assertThat(status.get(0).get("channel").asString()).isEqualTo("mails");
    assertThat(status.get(0).get("backlog").asLong()).isEqualTo(1);
    assertThat(status.get(0).get("dead_letters").asLong()).isEqualTo(2);
    assertThat(status.get(0).get("oldest_age").isNumber()).isTrue();
    assertThat(status.get(0).get("paused_since").isNull()).isTrue();
    assertThat(cli.run("status").ends(0).out().lines().map(String::strip))
        .first()
        .asString()
        .startsWith("CHANNEL  SUBSCRIPTION  BACKLOG");
    assertThat(cli.run("status", "other").ends(0).out()).contains("other is not installed");
  }

  @Test
  void statusHintsAtATriggerThatIsDisabled() throws Exception {
    database.execute(
        """
        create table author (id bigint);
        select pgonce.install_channel('author', 'EXACTLY_ONCE', 'trigger on author');
        create function pgonce_triggers.capture_author() returns trigger language plpgsql as 'begin return null; end';
        create trigger pgonce_author after insert on author for each row execute function pgonce_triggers.capture_author()
        """);
    assertThat(cli.run("status").ends(0).out()).contains("PAUSED  HINT").doesNotContain("explain");
    database.execute("alter table author disable trigger pgonce_author");
    assertThat(cli.run("status", "author").ends(0).out())
        .endsWith(" a trigger of its table is disabled: see explain\n");
    assertThat(cli.run("status", "mails").ends(0).out()).doesNotContain("explain");
  }

  @Test
  void aChannelWithoutASubscriptionIsShown() throws Exception {
    database.execute("select pgonce.install_channel('bare', 'EXACTLY_ONCE', 'published')");
    database.execute("select pgonce.drop_subscription('bare', 'default')");
    for (var status : List.of(cli.run("status"), cli.run("status", "bare"))) {
      assertThat(status.ends(0).out())
          .contains("bare ", "nothing published to it is stored: see explain");
    }
    assertThat(cli.run("channels").ends(0).out()).contains("bare ");
    assertThat(DoctorFindings.one(cli, "NO_SUBSCRIPTION").get("what").asString())
        .contains("channel bare");
    assertThat(cli.run("explain", "bare").ends(1).err())
        .contains("has no subscription any more", "install it again", "drop it");
    assertThat(cli.run("explain").ends(0).out()).contains("nothing waits");
  }

  @Test
  void theNamesInJsonStay() throws Exception {
    Cli.publish(database, "1");
    Cli.bury(database, 1, "REJECTED", "no");
    cli.run("pause", "mails", "--because", "x").ends(0);
    assertThat(names(cli.run("status", "-o", "json").json()))
        .containsExactly(
            "channel",
            "subscription",
            "mode",
            "feed",
            "backlog",
            "scheduled",
            "retrying",
            "most_attempts",
            "oldest_age",
            "dead_letters",
            "listeners",
            "outdated_listeners",
            "notify_gate",
            "paused_since",
            "paused_by",
            "pause_reason",
            "hint",
            "standby");
    assertThat(names(cli.run("explain", "mails", "-o", "json").json()))
        .containsExactly(
            "subscription",
            "id",
            "created_at",
            "cause",
            "since",
            "until",
            "blocked_by",
            "instance",
            "pid",
            "last_sql",
            "detail",
            "advice",
            "needs_person");
    assertThat(names(cli.run("peek", "mails", "-o", "json").json()))
        .containsExactly(
            "subscription",
            "id",
            "attempts",
            "due_at",
            "created_at",
            "last_error",
            "delivery_key",
            "order_key",
            "context",
            "version",
            "payload");
    assertThat(names(cli.run("dead", "-o", "json").json()))
        .containsExactly(
            "channel",
            "subscription",
            "id",
            "reason",
            "attempts",
            "created_at",
            "died_at",
            "version",
            "error",
            "order_key",
            "payload");
    assertThat(names(cli.run("dead", "--group", "-o", "json").json()))
        .containsExactly(
            "channel",
            "subscription",
            "reason",
            "dead_letters",
            "first_died_at",
            "last_died_at",
            "error");
    assertThat(names(cli.run("channels", "-o", "json").json()))
        .contains("channel", "mode", "max_rate", "installed_at");
    assertThat(names(cli.run("log", "-o", "json").json()))
        .containsExactly(
            "id",
            "at",
            "what",
            "channel",
            "subscription",
            "role",
            "operator",
            "concerned",
            "reason",
            "detail");
  }

  @Test
  void explainEndsWithThreeWhereAPersonIsNeeded() throws Exception {
    Cli.publish(database, "1");
    var answer = cli.run("explain", "mails", "1", "-o", "json").ends(3).json();
    assertThat(answer.get(0).get("cause").asString()).isEqualTo("NO_LISTENER");
    assertThat(cli.run("explain", "mails", "99").ends(0).out()).contains("DONE_OR_NEVER");
    assertThat(cli.run("explain", "mails").ends(3).out()).contains("advice").contains("Start the");
  }

  @Test
  void explainWithoutAChannelIsOfAllThoseThatNeedAPersonFirst() throws Exception {
    assertThat(cli.run("explain").ends(0).out())
        .isEqualTo(
            "nothing waits, and there are no dead letters; who listens, and when one was last handled: pgonce explain CHANNEL\n");
    database.execute(
        "select pgonce.install_channel('letters', 'EXACTLY_ONCE', 'published'); select pgonce.publish('letters', '1', delay => interval '1 hour')");
    assertThat(cli.run("explain").ends(0).out()).contains("SCHEDULED").doesNotContain("mails");
    Cli.bury(database, 2, "REJECTED", "no such account");
    database.execute(
        "delete from pgonce.dead_letter where subscription_id in (select id from pgonce.subscription where of_channel = 'letters')");
    var answers = cli.run("explain", "-o", "json").ends(3).json();
    assertThat(answers).hasSize(2);
    assertThat(answers.get(0).get("channel").asString()).isEqualTo("mails");
    assertThat(answers.get(0).get("cause").asString()).isEqualTo("DEAD");
    assertThat(answers.get(0).get("dead_letters").asLong()).isEqualTo(2);
    assertThat(answers.get(0).get("last_operation").asString()).contains(" INSTALL by ");
    assertThat(answers.get(1).get("waiting").asLong()).isEqualTo(1);
    // Of its channel alone it ends with 3 as well.
    Cli.publish(database, "1");
    database.execute(
        "select pgonce.listener_starts(gen_random_uuid(), 'web-1', (select array_agg(id) from pgonce.subscription), 'polling', 600000, workers => '{4,4}')");
    assertThat(cli.run("explain", "mails").ends(3).out())
        .contains("WAITING", "; besides, dead letters: 2 ")
        .containsPattern("needs_person +true");
    database.execute("delete from pgonce.notification where subscription_id > 0");
    assertThat(cli.run("explain").ends(3).out())
        .contains("pgonce dead mails --group")
        .contains("pgonce redrive mails --all --because 'why'");
    assertThat(cli.run("explain", "--subscription", "default").ends(2).err())
        .contains("give the channel");
  }

  @Test
  void explainSaysWhatToTypeHere() throws Exception {
    cli.run("pause", "mails", "--because", "x").ends(0);
    Cli.publish(database, "1");
    assertThat(cli.run("explain", "mails").ends(3).out())
        .contains("pgonce resume mails --because 'why'")
        .doesNotContain("SELECT");
    assertThat(cli.run("explain", "mails", "99").ends(0).out())
        .contains("What operators removed is in pgonce log mails.");
    // Of SQL, for scripts.
    assertThat(cli.run("explain", "mails", "-o", "json").json().get(0).get("advice").asString())
        .contains("SELECT pgonce.resume('mails', reason => 'why')");
  }

  /** What one subscription's answer says to type leaves the others of the channel alone. */
  @Test
  void explainSaysWhatToTypeForOneOfSeveralSubscriptions() throws Exception {
    database.execute(
        "select pgonce.install_channel('two', 'EXACTLY_ONCE', 'published', '{\"mail\": null, \"billing\": null}')");
    cli.run("pause", "two", "--subscription", "mail", "--because", "mail is down").ends(0);
    cli.run("pause", "two", "--subscription", "billing", "--because", "no money").ends(0);
    cli.run("publish", "two", "1", "--because", "x").ends(0);
    assertThat(cli.run("explain", "two", "--subscription", "mail").ends(3).out())
        .contains("pgonce resume two --subscription mail --because 'why'")
        .doesNotContain("SELECT", "billing");
    var all = cli.run("explain", "-o", "json").ends(3).json();
    assertThat(all.get(0).get("subscription").asString()).isEqualTo("billing");
    assertThat(all.get(0).get("last_operation").asString()).endsWith(" -- no money");
    assertThat(all.get(1).get("last_operation").asString()).endsWith(" -- mail is down");
    database.execute(
        "select pgonce.bury(n.subscription_id, n.id, 0, null, 1, 'REJECTED', 'x') from pgonce.notification n where n.subscription_id > 0");
    assertThat(cli.run("explain", "two", "1", "--subscription", "mail").ends(3).out())
        .contains("pgonce redrive two 1 --subscription mail --because 'why'")
        .contains("pgonce discard two 1 --subscription mail --because 'why'");
    assertThat(cli.run("explain", "two", "--subscription", "mail").ends(3).out())
        .contains("pgonce redrive two --subscription mail --because 'why'")
        .doesNotContain("SELECT");
  }

  @Test
  void aTextOfSeveralLinesCannotPassForAnotherValue() {
    var rows =
        new Rows(List.of("detail", "advice"), List.of(List.of("one\ncause  DEAD", "\u001b[2J")));
    assertThat(Table.upright(rows))
        .isEqualTo("detail  one\n        cause  DEAD\nadvice  \\u001b[2J\n");
  }

  /** A name that was mistyped has no dead letters either, which would look as if all were well. */
  @Test
  void deadSaysWhereThereIsNoSuchChannelSubscriptionOrReason() throws Exception {
    assertThat(cli.run("dead", "mails").ends(0).out()).isEqualTo("no dead letters\n");
    Cli.bury(database, 1, "REJECTED", "no such account");
    assertThat(cli.run("dead", "mails", "--error", "%421%").ends(0).out())
        .isEqualTo("no dead letter fits\n");
    assertThat(cli.run("dead", "mail").ends(1).err()).contains("channel \"mail\" is not installed");
    assertThat(cli.run("dead", "mail", "--group", "-o", "json").ends(1).err())
        .contains("channel \"mail\" is not installed");
    assertThat(cli.run("dead", "mails", "--subscription", "x").ends(1).err())
        .contains("with a subscription \"x\"");
    assertThat(cli.run("dead", "mails", "--reason", "BAD_LUCK").ends(2).err())
        .contains("has the reason \"BAD_LUCK\"");
    var reasons =
        database.queryString(
            "select string_agg(m[1], ', ') from pg_constraint c, regexp_matches(pg_get_constraintdef(c.oid), '''([A-Z_]+)''', 'g') m where c.conrelid = 'pgonce.dead_letter'::regclass and c.contype = 'c'");
    assertThat(cli.run("dead", "--reason", "BAD_LUCK").ends(2).err())
        .contains("\"BAD_LUCK\": it is one of " + reasons);
  }

  @Test
  void listenersThatLeftAreShown() throws Exception {
    assertThat(cli.run("listeners", "--left").ends(0).out())
        .isEqualTo("nobody left within a day\n");
    database.execute(
        "do $$ declare l uuid := gen_random_uuid(); begin perform pgonce.listener_starts(l, 'web-1', (select array_agg(id) from pgonce.subscription), 'polling', 1000); perform pgonce.listener_stops(l); end $$");
    var left = cli.run("listeners", "--left", "-o", "json").ends(0).json();
    assertThat(left.get(0).get("instance").asString()).isEqualTo("web-1");
    assertThat(left.get(0).get("how").asString()).isEqualTo("stopped");
    assertThat(cli.run("listeners").ends(0).out()).isEqualTo("nobody listens\n");
  }

  /** The number of a process of Java beside those of the server's processes. */
  @Test
  void anInstanceIsNotTakenForAServerProcess() throws Exception {
    database.execute(
        """
        set pgonce.operator = 'pid 17';
        select pgonce.pause('mails', 'moves');
        select pgonce.publish('mails', '1');
        insert into pgonce.listener (id, instance, subscriptions, workers, outdated, listens_by, silence)
        select gen_random_uuid(), 'pid 18', array_agg(s.id), '{4}', '{"key memory"}', 'polling', interval '1 hour' from pgonce.subscription s
        """);
    assertThat(cli.run("explain").out())
        .contains("paused by instance 'pid 17': moves")
        .containsPattern("PAUSE by \\S+ \\(instance 'pid 17'\\)");
    assertThat(cli.run("listeners").out()).contains("instance 'pid 18'  true");
    assertThat(cli.run("log").out()).contains("instance 'pid 17'");
    assertThat(cli.run("doctor").out())
        .containsPattern(
            "instance 'pid 18', started at 2[^,]*: default of mails: key memory, installed so at 2")
        .contains("by instance 'pid 17': moves");
    // For scripts it is what it is.
    assertThat(cli.run("listeners", "-o", "json").json().get(0).get("instance").asString())
        .isEqualTo("pid 18");
  }

  @Test
  void explainOfAChannelThatIsNotInstalledFails() {
    assertThat(cli.run("explain", "nowhere").ends(1).err())
        .contains("\"nowhere\" is not installed")
        .contains("look for its name in pgonce channels");
    var log = cli.run("log", "nowhere").ends(0);
    assertThat(log.err()).contains("channel nowhere is not installed");
    assertThat(log.out()).isEqualTo("nothing was done\n");
  }

  @Test
  void peekShowsAPayloadOnlyWhenAsked() throws Exception {
    Cli.publish(database, "{\"secret\": 7}");
    assertThat(cli.run("peek", "mails").ends(0).out()).doesNotContain("secret");
    var shown = cli.run("peek", "mails", "--payload", "-o", "json").ends(0).json();
    assertThat(shown.get(0).get("payload").get("secret").asInt()).isEqualTo(7);
  }

  @Test
  void deadShowsAPayloadOnlyWhenAsked() throws Exception {
    database.execute(
        """
        insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload)
        select s.id, 1, 1, now(), 'REJECTED', 'no', '{"secret": 7}' from pgonce.subscription s
        """);
    assertThat(cli.run("dead").ends(0).out()).contains("REJECTED").doesNotContain("secret");
    assertThat(cli.run("dead", "-o", "json").json().get(0).get("payload").isNull()).isTrue();
    assertThat(cli.run("dead", "--payload").ends(0).out()).contains("{\"secret\": 7}");
    var shown = cli.run("dead", "mails", "--payload", "-o", "json").ends(0).json();
    assertThat(shown.get(0).get("payload").get("secret").asInt()).isEqualTo(7);
    assertThat(cli.run("dead", "--group", "--payload").ends(2).err()).contains("leave --group out");
  }

  @Test
  void historyShowsWhatWasHandledAndItsPayloadOnlyWhenAsked() throws Exception {
    assertThat(cli.run("history", "mails").ends(0).out())
        .isEqualTo("the channel keeps no history (ChannelOptions.withHistory)\n");
    database.execute(
        """
        select pgonce.install_channel('mails', 'EXACTLY_ONCE', 'published', history => '1 day', history_payload => true);
        insert into pgonce.handled (created_at, due_at, claimed_at, took, id, subscription_id, attempts, skipped, instance, delivery_key, payload)
        select now(), now(), now(), '12.5 ms', g, s.id, 2, false, 'mailer-1', 'mail:' || g, '"secret"'
          from generate_series(1, 3) g cross join pgonce.subscription s join pgonce.channel c on c.id = s.channel_id where c.name = 'mails'
        """);
    assertThat(cli.run("history", "mails").ends(0).out())
        .contains("mail:2", "HANDLED", "mailer-1", "  12ms  ")
        .doesNotContain("secret");
    var one = cli.run("history", "mails", "--key", "mail:2", "-o", "json").ends(0).json();
    assertThat(one).hasSize(1);
    assertThat(names(one))
        .containsExactly(
            "subscription",
            "id",
            "outcome",
            "delivery_key",
            "created_at",
            "due_at",
            "claimed_at",
            "handled_at",
            "took",
            "attempts",
            "instance",
            "payload");
    assertThat(one.get(0).get("attempts").asInt()).isEqualTo(2);
    assertThat(one.get(0).get("took").isNumber()).isTrue();
    assertThat(one.get(0).get("payload").isNull()).isTrue();
    assertThat(cli.run("history", "mails", "--from", "1h", "-n", "2", "-o", "json").json())
        .hasSize(2);
    assertThat(cli.run("history", "mails", "--before", "1h", "-o", "json").json()).isEmpty();
    assertThat(cli.run("history", "mails", "--before", "1h").out())
        .isEqualTo("nothing that fits was handled\n");
    assertThat(cli.run("history", "mails", "--payload").ends(0).out()).contains("secret");
    assertThat(cli.run("explain", "mails", "2").ends(0).out())
        .contains("HANDLED", "handled at attempt 2 by instance 'mailer-1', in 12.5 ms");
  }

  @Test
  void deadLettersAreFilteredAndGrouped() throws Exception {
    Cli.bury(database, 3, "ATTEMPTS_USED_UP", "421 busy");
    Cli.bury(database, 2, "REJECTED", "no such account");
    assertThat(cli.run("dead", "mails", "--reason", "REJECTED", "-o", "json").json()).hasSize(2);
    assertThat(cli.run("dead", "mails", "--error", "%421%", "-o", "json").json()).hasSize(3);
    assertThat(cli.run("dead", "mails", "1", "4", "-o", "json").json()).hasSize(2);
    assertThat(cli.run("dead", "--before", "1h", "-o", "json").json()).isEmpty();
    assertThat(cli.run("dead", "--from", "yesterday", "-o", "json").json()).hasSize(5);
    assertThat(cli.run("dead", "-n", "1", "-o", "json").json()).hasSize(1);
    var groups = cli.run("dead", "--group", "-o", "json").json();
    assertThat(groups).hasSize(2);
    assertThat(groups.get(0).get("dead_letters").asLong()).isEqualTo(3);
    assertThat(cli.run("dead", "--from", "whenever").ends(2).err()).contains("no time");
  }

  @Test
  void numbersAreShownAsTheyAreTyped() throws Exception {
    database.execute("select setval('pgonce.notification_id', 1234567)");
    Cli.bury(database, 1, "REJECTED", "no");
    assertThat(cli.run("dead").ends(0).out()).contains(" 1234568 ");
    assertThat(CellText.of(12345)).isEqualTo("12345"); // as a pid is
  }

  @Test
  void nothingIsSaidInWords() {
    assertThat(cli.run("listeners").ends(0).out()).isEqualTo("nobody listens\n");
    assertThat(cli.run("listeners", "-o", "json").ends(0).json()).isEmpty();
    assertThat(cli.run("dead").ends(0).out()).isEqualTo("no dead letters\n");
    assertThat(cli.run("peek", "mails").ends(0).out()).isEqualTo("nothing waits\n");
  }
}
