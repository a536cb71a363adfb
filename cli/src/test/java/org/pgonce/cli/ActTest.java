package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The verbs that change something. */
@PgTest(PgOnceInstalled.class)
class ActTest {

  private TestDatabase database;
  private Cli cli;

  @BeforeEach
  void open(TestDatabase fresh) {
    database = fresh;
    cli = new Cli(fresh.login());
  }

  private long dead() throws SQLException {
    return database.queryLong("select count(*) from pgonce.dead_letter");
  }

  private String lastOperation() throws SQLException {
    return database.queryString(
        "select what || ' ' || concerned || ' by ' || operator || ': ' || reason from pgonce.operation_log order by id desc limit 1");
  }

  @Test
  void pauseAndResumeStandInTheLog() throws Exception {
    cli.run("pause", "mails", "--because", "mail server is down").ends(0);
    assertThat(lastOperation()).isEqualTo("PAUSE 1 by Ada: mail server is down");
    assertThat(cli.run("resume", "mails", "--because", "it is back", "-o", "json").ends(0).json())
        .hasToString(
            "{\"what\":\"resume\",\"channel\":\"mails\",\"subscription\":null,\"touched\":1,\"dry_run\":false}");
    assertThat(lastOperation()).isEqualTo("RESUME 1 by Ada: it is back");
    cli.run("pause", "mails", "--because", "x", "--by", "Grace").ends(0);
    assertThat(lastOperation()).isEqualTo("PAUSE 1 by Grace: x");
    assertThat(cli.run("pause", "mails", "--because", "y").ends(0).out())
        .isEqualTo("channel mails is paused already, by Grace: x; nothing was changed\n");
    cli.run("resume", "mails", "--because", "z").ends(0);
    var again = cli.run("resume", "mails", "--subscription", "default", "--because", "z").ends(0);
    assertThat(again.out())
        .isEqualTo("subscription default of channel mails is not paused; nothing was changed\n");
  }

  @Test
  void h77_aLoginWhoseTransactionsAreReadOnlyIsToldTheSetting() throws Exception {
    database.execute(
        "alter database %s set default_transaction_read_only = on".formatted(database.name()));
    assertThat(cli.run("pause", "mails", "--because", "x").ends(1).err())
        .contains("RESET default_transaction_read_only");
  }

  @Test
  void everyChangeAsksWhy() {
    for (var change : new String[] {"pause", "resume", "redrive", "discard", "adopt"}) {
      assertThat(cli.run(change, "mails").ends(2).err()).contains("--because");
    }
    assertThat(cli.run("pause", "mails", "--because", " ").ends(2).err()).contains("not blank");
  }

  /** Java puts one character for all that the locale does not know: another key, another reason. */
  @Test
  void whatTheLocaleCannotReadIsRefused() throws Exception {
    assertThat(cli.run("publish", "mails", "\"Gr\uFFFD\uFFFDe\"", "--because", "x").ends(2).err())
        .contains("LC_ALL=C.UTF-8");
    cli.environment.put("PGONCE_OPERATOR", "J\uFFFDrg");
    assertThat(cli.run("publish", "mails", "1", "--because", "x").ends(1).err())
        .contains("PGONCE_OPERATOR holds a character")
        .contains("LC_ALL=C.UTF-8");
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isZero();
  }

  @ParameterizedTest
  @CsvSource({"redrive,redriven", "discard,discarded"})
  void deadLettersAreTakenByWhatIsGiven(String verb, String participle) throws Exception {
    Cli.bury(database, 3, "ATTEMPTS_USED_UP", "421 busy");
    Cli.bury(database, 2, "REJECTED", "no such account");
    var why = new String[] {"--because", "x"};
    assertThat(run(verb, why, "--error", "%421%", "--dry-run").ends(0).out())
        .isEqualTo(
            "3 dead letters of channel mails would be %s; nothing was changed\n"
                .formatted(participle));
    assertThat(dead()).isEqualTo(5);
    assertThat(run(verb, why, "--reason", "REJECTED").ends(0).out()).startsWith("2 dead letters");
    assertThat(dead()).isEqualTo(3);
    run(verb, why, "--before", "1h").ends(0);
    assertThat(dead()).isEqualTo(3);
    run(verb, why, "1").ends(0);
    assertThat(dead()).isEqualTo(2);
    assertThat(run(verb, why).ends(2).err()).contains("which dead letters").contains("--all");
    assertThat(run(verb, why, "--all", "2").ends(2).err()).contains("give one of them");
    assertThat(dead()).isEqualTo(2);
    run(verb, why, "--all").ends(0);
    assertThat(dead()).isZero();
    assertThat(
            database.queryLong("select count(*) from pgonce.scheduled where subscription_id > 0"))
        .isEqualTo(verb.equals("redrive") ? 5 : 0);
  }

  private Cli.Run run(String verb, String[] why, String... more) {
    var arguments = new String[2 + why.length + more.length];
    arguments[0] = verb;
    arguments[1] = "mails";
    System.arraycopy(more, 0, arguments, 2, more.length);
    System.arraycopy(why, 0, arguments, 2 + more.length, why.length);
    return cli.run(arguments);
  }

  @Tag("all")
  @Test
  void manyAreRedrivenInBatchesWithProgressAtATerminalOnly() throws Exception {
    Cli.bury(database, 100_000, "REJECTED", "no");
    cli.interactive = true;
    var dry = cli.run("redrive", "mails", "--all", "--because", "x", "--dry-run").ends(0);
    assertThat(dry.out()).startsWith("100,000 dead letters of channel mails would be");
    assertThat(dead()).isEqualTo(100_000);
    var run = cli.run("redrive", "mails", "--all", "--because", "it is back").ends(0);
    assertThat(run.out()).isEqualTo("100,000 dead letters of channel mails redriven\n");
    assertThat(run.err()).contains("redrive: 10,000 of 100,000").contains("100,000 of 100,000");
    assertThat(dead()).isZero();
    assertThat(
            database.queryString(
                "select count(*) || ' ' || sum(concerned) from pgonce.operation_log where what = 'REDRIVE'"))
        .isEqualTo("10 100000");
    Cli.bury(database, 20_000, "REJECTED", "no");
    cli.interactive = false;
    assertThat(cli.run("discard", "mails", "--all", "--because", "x").ends(0).err()).isEmpty();
  }

  /** A lock that was given back would make its row a suspect. */
  private static final String MARK =
      "select string_agg(distinct xmax::text, ' ') from pgonce.%s where subscription_id > 0";

  @Test
  void retryNowMakesDue() throws Exception {
    database.execute("select pgonce.publish('mails', '1', delay => interval '1 hour')");
    cli.run("retry-now", "mails", "1", "--because", "x", "--dry-run").ends(0);
    var due = "select count(*) from pgonce.scheduled where due_at <= clock_timestamp()";
    assertThat(database.queryLong(due)).isZero();
    assertThat(database.queryString(MARK.formatted("scheduled"))).isEqualTo("0");
    assertThat(cli.run("retry-now", "mails", "1", "--because", "x").ends(0).out()).startsWith("1 ");
    assertThat(database.queryLong(due)).isEqualTo(1);
  }

  /** What has a time of its own keeps it: a reminder for next week is not sent today. */
  @Test
  void retryNowTakesAllThatFailed() throws Exception {
    database.execute("select pgonce.publish('mails', '0', delay => interval '1 hour')");
    database.execute(
        """
        insert into pgonce.scheduled (subscription_id, id, attempts, due_at, created_at, last_error, payload)
        select s.id, nextval('pgonce.notification_id'), 1, now() + interval '1 hour', now(),
               case when g % 3 = 0 then 'no such account' else '421 busy' end, '1'
          from pgonce.subscription s, generate_series(1, 12003) g where s.id > 0
        """);
    assertThat(cli.run("retry-now", "mails", "--because", "x").ends(2).err()).contains("--failed");
    assertThat(cli.run("retry-now", "mails", "1", "--failed", "--because", "x").ends(2).err())
        .contains("beside ids");
    assertThat(cli.run("retry-now", "mail", "--failed", "--because", "x").ends(1).err())
        .contains("channel \"mail\" is not installed");
    var dry = cli.run("retry-now", "mails", "--failed", "--because", "x", "--dry-run").ends(0);
    assertThat(dry.out())
        .isEqualTo(
            "12,003 notifications of channel mails would be made due; nothing was changed\n");
    var due = "select count(*) from pgonce.scheduled where due_at <= clock_timestamp()";
    assertThat(database.queryLong(due)).isZero();
    cli.run("retry-now", "mails", "--error", "%account%", "--because", "it is there").ends(0);
    assertThat(database.queryLong(due + " and last_error like '%account%'")).isEqualTo(4_001);
    assertThat(database.queryLong(due)).isEqualTo(4_001);
    assertThat(cli.run("retry-now", "mails", "--failed", "--because", "it is back").ends(0).out())
        .isEqualTo("8,002 notifications of channel mails made due\n");
    assertThat(database.queryLong(due)).isEqualTo(12_003);
    assertThat(
            database.queryString(
                "select string_agg(concerned || ' ' || reason, ', ' order by id) from pgonce.operation_log where what = 'RETRY_NOW'"))
        .isEqualTo("4001 it is there, 8002 it is back");
  }

  /** An id is of all subscriptions, and what happened to it is of each by itself. */
  @Test
  void retryNowTakesWhatFitsAndNotItsIdInOtherSubscriptions() throws Exception {
    database.execute(
        "select pgonce.install_channel('mails', 'EXACTLY_ONCE', 'published', '{\"default\": null, \"audit\": null}')");
    database.execute(
        """
        insert into pgonce.scheduled (subscription_id, id, attempts, due_at, created_at, last_error, payload)
        select s.id, w.id, w.attempts, now() + interval '1 hour', now(), w.error, '1'
          from (values ('default', 1, 1, '421 busy'), ('audit', 1, 1, 'no such account'),
                       ('default', 2, 1, '421 busy'), ('audit', 2, 0, null), ('audit', 3, 2, '421 busy')) as w (name, id, attempts, error)
          join pgonce.subscription s on s.name = w.name
        """);
    var busy = new String[] {"retry-now", "mails", "--error", "%busy%", "--because", "it is back"};
    var dry = Arrays.copyOf(busy, busy.length + 1);
    dry[dry.length - 1] = "--dry-run";
    assertThat(cli.run(dry).ends(0).out()).startsWith("3 notifications");
    assertThat(cli.run(busy).ends(0).out()).startsWith("3 notifications");
    assertThat(
            database.queryString(
                "select string_agg(s.name || ' ' || d.id, ', ' order by s.name, d.id) from pgonce.scheduled d join pgonce.subscription s on s.id = d.subscription_id where d.due_at <= clock_timestamp() and s.id > 0"))
        .isEqualTo("audit 3, default 1, default 2");
    assertThat(
            database.queryString(
                "select string_agg(subscription || ' ' || concerned, ', ' order by subscription) from pgonce.operation_log where what = 'RETRY_NOW'"))
        .isEqualTo("audit 1, default 2");
    assertThat(cli.run("retry-now", "mails", "--failed", "--because", "x").ends(0).out())
        .startsWith("1 notifications");
  }

  @Test
  void cancelTakesIdsAndKeys() throws Exception {
    database.execute(
        "select pgonce.publish('mails', '1'), pgonce.publish('mails', '2', delivery_key => 'a \"b\\c')");
    assertThat(cli.run("cancel", "mails", "--because", "x").ends(2).err()).contains("Give ids");
    var dry =
        cli.run("cancel", "mails", "1", "--because", "x", "--dry-run", "-o", "json").ends(0).json();
    assertThat(dry.get("touched").asLong()).isEqualTo(1);
    assertThat(dry.get("dry_run").asBoolean()).isTrue();
    assertThat(database.queryString(MARK.formatted("notification"))).isEqualTo("0");
    assertThat(cli.run("cancel", "mails", "1", "--key", "a \"b\\c", "--because", "x").ends(0).out())
        .isEqualTo("2 notifications of channel mails cancelled\n");
  }

  @Test
  void publishSaysWhyInTheContext() throws Exception {
    assertThat(
            cli.run("publish", "mails", "{\"to\": \"b\"}", "--because", "a test", "--dry-run")
                .ends(0)
                .out())
        .contains("would be published");
    var waiting = "select count(*) from pgonce.peek('mails')";
    assertThat(database.queryLong(waiting)).isZero();
    cli.run("publish", "mails", "{\"to\": \"b\"}", "--because", "a test").ends(0);
    assertThat(
            database.queryString(
                "select context ->> 'because' || ' ' || (context ->> 'operator') from pgonce.peek('mails')"))
        .isEqualTo("a test Ada");
    cli.stdin = "[1]";
    cli.run("publish", "mails", "-", "--because", "x", "--delay", "1 hour", "--key", "@@k").ends(0);
    assertThat(database.queryLong(waiting)).isEqualTo(2);
    assertThat(
            database.queryString(
                "select delivery_key from pgonce.scheduled where subscription_id > 0"))
        .isEqualTo("@@k");
    assertThat(cli.run("publish", "mails", "{", "--because", "x").ends(2).err())
        .startsWith("pgonce: PAYLOAD is no JSON")
        .contains("'{\"id\": 42}'");
  }

  /** What has the key already may be another payload, and may be done. */
  @Test
  void publishSaysWhereAnotherHasTheKey() throws Exception {
    var publish = new String[] {"publish", "mails", "1", "--key", "k", "--because", "x"};
    assertThat(cli.run(publish).ends(0).out())
        .isEqualTo("notification 1 published to channel mails\n");
    publish[2] = "2";
    assertThat(cli.run(publish).ends(0).out())
        .isEqualTo(
            "nothing was published to channel mails: notification 1 has that delivery key already\n");
    var json = Arrays.copyOf(publish, publish.length + 2);
    json[json.length - 2] = "-o";
    json[json.length - 1] = "json";
    assertThat(cli.run(json).ends(0).json())
        .hasToString(
            "{\"what\":\"publish\",\"channel\":\"mails\",\"subscription\":null,\"touched\":0,\"dry_run\":false,\"id\":1}");
    var dry = Arrays.copyOf(publish, publish.length + 1);
    dry[dry.length - 1] = "--dry-run";
    assertThat(cli.run(dry).ends(0).out())
        .isEqualTo(
            "nothing would be published to channel mails: notification 1 has that delivery key already\n");
    assertThat(database.queryLong("select count(*) from pgonce.peek('mails')")).isEqualTo(1);
    publish[4] = "other";
    publish[2] = "{\"a\": \"\\u202e\",  \"a\": 1.10}";
    cli.run(publish).ends(0);
    assertThat(
            database.queryString(
                "select payload::text from pgonce.notification where delivery_key = 'other'"))
        .isEqualTo(publish[2]);
  }

  @Test
  void publishTakesATimeOrADelay() throws Exception {
    var due =
        "select extract(epoch from date_trunc('hour', due_at - '%s'))::text from pgonce.peek('mails') order by id desc limit 1";
    cli.run("publish", "mails", "1", "--at", "2090-11-26 10:00+01", "--because", "x").ends(0);
    assertThat(database.queryString(due.formatted("2090-11-26 10:00+01"))).isEqualTo("0.000000");
    cli.run("publish", "mails", "1", "--delay", "1 month", "--because", "x").ends(0);
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.peek('mails') where due_at at time zone 'UTC' between (now() at time zone 'UTC') + interval '1 month' - interval '1 minute' and (now() at time zone 'UTC') + interval '1 month'"))
        .isEqualTo(1);
    assertThat(
            cli.run(
                    "publish",
                    "mails",
                    "1",
                    "--at",
                    "2090-11-26",
                    "--delay",
                    "1h",
                    "--because",
                    "x")
                .ends(2)
                .err())
        .contains("give one");
  }

  @ParameterizedTest
  @CsvSource({
    "--at, infinity, '--at \"infinity\" never comes'",
    "--at, -infinity, '--at \"-infinity\" never comes'",
    "--at, soon, '--at \"soon\" is no time'",
    "--at, 2026-02-30, '--at \"2026-02-30\" is no time'",
    "--at, 999999-01-01, '--at \"999999-01-01\" is no time'",
    "--at, 2026-01-01 10:00 Nowhere/City, is no time",
    "--delay, soon, '--delay \"soon\" is no interval'",
    "--delay, 300000 years, '--delay \"300000 years\" is no interval'"
  })
  void h81_aTimeThatNeverComesIsRefusedInWords(String option, String given, String words)
      throws Exception {
    assertThat(cli.run("publish", "mails", "1", option, given, "--because", "x").ends(2).err())
        .contains(words, option.equals("--at") ? "as '2026-11-26 10:00'" : "as '2 hours'");
    assertThat(database.queryLong("select count(*) from pgonce.peek('mails')")).isZero();
  }

  @Test
  void aTimeToLookFromIsRefusedInWords() {
    for (var verb : List.of("dead", "history")) {
      for (var option : List.of("--from", "--before")) {
        for (var time : List.of("monday morning", "999999999d")) {
          assertThat(cli.run(verb, "mails", option, time).ends(2).err())
              .contains("%s \"%s\" is no time".formatted(option, time), "2h (ago)");
        }
      }
    }
  }

  @Tag("all")
  @Test
  void aDryRunOfAdoptLeavesTheSequence() throws Exception {
    Cli.publish(database, "1");
    var sequence = "select last_value || ' ' || is_called from pgonce.notification_id";
    var before = database.queryString(sequence);
    assertThat(cli.run("adopt", "--because", "x", "--dry-run").ends(0).out())
        .contains("1 notifications that wait in it handled; nothing was changed");
    assertThat(database.queryString(sequence)).isEqualTo(before);
    assertThat(cli.run("adopt", "--because", "x").ends(0).out()).contains("the 1 notifications");
    assertThat(database.queryString(sequence)).isNotEqualTo(before);
  }

  @Test
  void adoptLetsACopyDeliver() throws Exception {
    database.execute("update pgonce.installation set home = ''");
    var copy = "select pgonce.copy_of_another() is not null";
    var dry = cli.run("adopt", "--because", "x", "--dry-run").ends(0);
    assertThat(dry.out()).doesNotContain("not known as a copy");
    assertThat(database.queryString(copy)).isEqualTo("t");
    cli.run("adopt", "--because", "the old one is gone").ends(0);
    assertThat(database.queryString(copy)).isEqualTo("f");
    assertThat(lastOperation()).isEqualTo("ADOPT 0 by Ada: the old one is gone");
    for (var really : List.of("--dry-run", "--by=Grace")) {
      assertThat(cli.run("adopt", "--because=x", really).out()).contains("not known as a copy");
    }
  }
}
