package org.pgonce.console;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * Each action: what it would touch, the reason, what it did, and its entry of the operation log.
 */
@PgTest(Stage.class)
@Tag("versions")
@Tag("drivers")
class ActionsTest {

  private static final List<String> ACTIONS =
      List.of(
          "do=pause&channel=mails",
          "do=resume&channel=mails",
          "do=retry-now&channel=mails&id=1",
          "do=retry-now&channel=mails&all=yes",
          "do=cancel&channel=mails&id=1",
          "do=redrive&channel=mails&all=yes",
          "do=discard&channel=mails&all=yes");

  private static String logged(TestDatabase database) throws Exception {
    return database.queryString(
        "select o.what || ' ' || o.concerned || ' ' || o.operator || ' ' || o.reason from pgonce.operation_log o order by o.id desc limit 1");
  }

  @Test
  void pauseAndResume(TestDatabase database) throws Exception {
    try (var browser = new Browser(database.loginRole("acts", "pgonce_admin"), true)) {
      browser.page("/");
      assertThat(browser.page("/channel/mails")).contains(">Pause…<").doesNotContain(">Resume…<");
      assertThat(browser.page("/act?do=pause&channel=mails")).contains("Pause 1 subscriptions?");
      assertThat(
              database.queryLong(
                  "select count(*) from pgonce.subscription where paused_at is not null"))
          .isZero();
      assertThat(browser.act("/act?do=pause&channel=mails", "the server is down"))
          .contains("1 subscriptions paused.")
          .contains("Paused: channel mails, subscription default, by Ada")
          .contains(">Resume…<");
      assertThat(logged(database)).isEqualTo("PAUSE 1 Ada the server is down");
      assertThat(browser.page("/act?do=pause&channel=mails")).contains("Nothing fits");
      browser.act("/act?do=resume&channel=mails&subscription=default", "it is back");
      assertThat(logged(database)).isEqualTo("RESUME 1 Ada it is back");
      assertThat(browser.page("/log")).contains("the server is down").contains("it is back");
    }
  }

  @Test
  void retryNowAndCancel(TestDatabase database) throws Exception {
    Stage.retrying(database, "421 busy");
    Stage.retrying(database, "421 busy");
    try (var browser = new Browser(database.loginRole("acts", "pgonce_admin"), true)) {
      browser.page("/");
      assertThat(browser.page("/channel/mails"))
          .contains("value=\"retry-now\"")
          .contains("value=\"cancel\"");
      assertThat(browser.page("/act?do=retry-now&channel=mails&id=1&id=2&id=99"))
          .contains("Retry now 2 notifications?");
      assertThat(browser.act("/act?do=retry-now&channel=mails&id=1", "it is back"))
          .contains("1 notifications made due.");
      assertThat(logged(database)).isEqualTo("RETRY_NOW 1 Ada it is back");
      browser.act("/act?do=cancel&channel=mails&id=1&id=2", "not wanted");
      assertThat(logged(database)).isEqualTo("CANCEL 2 Ada not wanted");
      assertThat(browser.page("/channel/mails")).contains("Nothing waits that fits");
    }
  }

  /** As after an outage, which many have met. What waits for its own time was not asked for. */
  @Test
  void allThatFailedAreRetriedAndNothingElse(TestDatabase database) throws Exception {
    database.execute(
        "select pgonce.install_channel('mails', 'EXACTLY_ONCE', 'published', '{\"default\": null, \"audit\": null}')");
    Stage.retrying(database, "421 busy");
    Stage.retrying(database, "no such account");
    database.execute("select pgonce.publish('mails', '\"later\"', delay => '1 hour')");
    try (var browser = new Browser(database.loginRole("acts", "pgonce_admin"), true)) {
      browser.page("/");
      assertThat(browser.page("/channel/mails")).contains(">Retry now all that failed…<");
      assertThat(browser.page("/act?do=retry-now&channel=mails&all=yes"))
          .contains("Retry now 4 notifications?");
      var some = "/act?do=retry-now&channel=mails&all=yes&subscription=audit&error=busy";
      assertThat(browser.page(some)).contains("Retry now 1 notifications?");
      assertThat(browser.act(some, "it is back")).contains("1 notifications made due.");
      assertThat(browser.act("/act?do=retry-now&channel=mails&all=yes", "it is back"))
          .contains("3 notifications made due.");
      assertThat(
              database.queryString(
                  "select string_agg(o.subscription || ' ' || o.concerned || ' ' || o.operator, ', ' order by o.id) from pgonce.operation_log o where o.what = 'RETRY_NOW'"))
          .isEqualTo("audit 1 Ada, audit 1 Ada, default 2 Ada");
      assertThat(browser.page("/act?do=retry-now&channel=mails&all=yes")).contains("Nothing fits");
    }
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.scheduled where due_at > clock_timestamp() and subscription_id > 0"))
        .as("those that were published for later")
        .isEqualTo(2);
  }

  /** An id is of all subscriptions, and what happened to it is of each by itself. */
  @Test
  void whatFailedIsRetriedAndNotItsIdInOtherSubscriptions(TestDatabase database) throws Exception {
    database.execute(
        "select pgonce.install_channel('mails', 'EXACTLY_ONCE', 'published', '{\"default\": null, \"audit\": null}')");
    database.execute(
        """
        insert into pgonce.scheduled (subscription_id, id, attempts, due_at, created_at, last_error, payload)
        select s.id, w.id, w.attempts, now() + interval '1 hour', now(), w.error, '1'
          from (values ('default', 1, 1, '421 busy'), ('audit', 1, 1, 'no such account'),
                       ('default', 2, 1, '421 busy'), ('audit', 2, 0, null)) as w (name, id, attempts, error)
          join pgonce.subscription s on s.name = w.name
        """);
    try (var browser = new Browser(database.login(), true)) {
      browser.page("/");
      var busy = "/act?do=retry-now&channel=mails&all=yes&error=busy";
      assertThat(browser.page(busy)).contains("Retry now 2 notifications?");
      assertThat(browser.act(busy, "it is back")).contains("2 notifications made due.");
    }
    assertThat(
            database.queryString(
                "select string_agg(s.name || ' ' || d.id, ', ' order by d.id) from pgonce.scheduled d join pgonce.subscription s on s.id = d.subscription_id where d.due_at <= clock_timestamp() and s.id > 0"))
        .isEqualTo("default 1, default 2");
  }

  @Test
  void manyThatFailedAreRetriedInBatches(TestDatabase database) throws Exception {
    Stage.retrying(database, "421 busy");
    database.execute(
        "insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, last_error, payload) select s.subscription_id, 1000 + i, s.due_at, 1, s.created_at, s.last_error, s.payload from pgonce.scheduled s, generate_series(1, 10000) i where s.subscription_id > 0");
    try (var browser = new Browser(database.login(), true)) {
      browser.page("/");
      var all = "/act?do=retry-now&channel=mails&all=yes";
      assertThat(browser.page(all))
          .contains("Retry now 10,000 notifications?")
          .contains("10,001 notifications fit")
          .contains("the first 10,000 ids");
      assertThat(browser.act(all, "again")).contains("10,000 notifications made due.");
      assertThat(browser.act(all, "again")).contains("1 notifications made due.");
    }
  }

  /** A lock that was given back would make its row a suspect. */
  @Test
  void whoOnlyLooksLeavesNoMark(TestDatabase database) throws Exception {
    Stage.publish(database, "\"new\"");
    Stage.retrying(database, "421 busy");
    try (var browser = new Browser(database.login(), true)) {
      browser.page("/");
      assertThat(browser.page("/act?do=cancel&channel=mails&id=1&id=2"))
          .contains("Cancel 2 notifications?");
      assertThat(browser.page("/act?do=retry-now&channel=mails&id=1&id=2"))
          .contains("Retry now 1 notifications?");
    }
    assertThat(
            database.queryString(
                "select string_agg(distinct a.xmax::text, ' ') from (select subscription_id, xmax from pgonce.notification union all select subscription_id, xmax from pgonce.scheduled) a where a.subscription_id > 0"))
        .isEqualTo("0");
  }

  @Test
  void whatIsChosenOfASubscriptionIsOfNoOther(TestDatabase database) throws Exception {
    database.execute(
        "select pgonce.install_channel('mails', 'EXACTLY_ONCE', 'published', '{\"default\": null, \"audit\": null}')");
    Stage.publish(database, "\"one\"");
    try (var browser = new Browser(database.login(), true)) {
      assertThat(browser.page("/channel/mails"))
          .contains("value=\"audit/1\"")
          .contains("value=\"default/1\"");
      assertThat(
              browser.get("/act?do=cancel&channel=mails&id=audit%2F1&id=default%2F1").statusCode())
          .isEqualTo(400);
      browser.act("/act?do=cancel&channel=mails&id=audit%2F1", "not for the audit");
    }
    assertThat(
            database.queryString(
                "select string_agg(s.name, ' ') from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id"))
        .isEqualTo("default");
  }

  @Test
  void redriveAndDiscardTouchWhatFits(TestDatabase database) throws Exception {
    Stage.bury(database, 3, "ATTEMPTS_USED_UP", "421 busy");
    Stage.bury(database, 2, "REJECTED", "no such account");
    try (var browser = new Browser(database.loginRole("acts", "pgonce_admin"), true)) {
      browser.page("/");
      var group =
          Browser.links(browser.page("/dead")).stream()
              .filter(link -> link.startsWith("/act?do=redrive") && link.contains("ATTEMPTS"))
              .findFirst()
              .orElseThrow();
      assertThat(browser.page(group)).contains("Redrive 3 dead letters?");
      assertThat(browser.act(group, "it is back")).contains("3 dead letters redriven.");
      assertThat(logged(database)).isEqualTo("REDRIVE 3 Ada it is back");
      assertThat(
              database.queryLong(
                  "select count(*) from pgonce.scheduled where attempts = 0 and subscription_id > 0"))
          .isEqualTo(3);
      browser.act("/act?do=discard&channel=mails&id=4", "a test");
      assertThat(logged(database)).isEqualTo("DISCARD 1 Ada a test");
      browser.act("/act?do=discard&channel=mails&all=yes&error=such", "a test");
      assertThat(database.queryLong("select count(*) from pgonce.dead_letter")).isZero();
    }
  }

  @Test
  void whatDiesAfterItWasShownIsNotTouched(TestDatabase database) throws Exception {
    Stage.bury(database, 2, "REJECTED", "no");
    try (var browser = new Browser(database.login(), true)) {
      browser.page("/");
      var form = Browser.form(browser.page("/act?do=discard&channel=mails&all=yes"), "a test");
      Stage.bury(database, 1, "REJECTED", "no");
      assertThat(browser.post("/act", form).statusCode()).isEqualTo(303);
      assertThat(database.queryLong("select count(*) from pgonce.dead_letter")).isEqualTo(1);
    }
  }

  @Test
  void manyDeadLettersAreTakenInBatchesAndAFormSentTwiceTakesOne(TestDatabase database)
      throws Exception {
    Stage.bury(database, 10_001, "REJECTED", "no");
    try (var browser = new Browser(database.login(), true)) {
      browser.page("/");
      var all = "/act?do=redrive&channel=mails&all=yes";
      var page = browser.page(all);
      assertThat(page)
          .contains("Redrive 10,000 dead letters?")
          .contains("10,001 dead letters fit")
          .contains("the first 10,000 ids");
      var form = Browser.form(page, "again");
      assertThat(browser.post("/act", form).headers().firstValue("Location").orElseThrow())
          .contains("touched=10000");
      // Sent again, as by a second click: it is about what was shown.
      assertThat(browser.post("/act", form).headers().firstValue("Location").orElseThrow())
          .contains("touched=0");
      assertThat(browser.act(all, "again")).contains("1 dead letters redriven.");
    }
  }

  @Tag("all")
  @Test
  void eachActionAsksForAReason(TestDatabase database) throws Exception {
    fill(database);
    try (var browser = new Browser(database.login(), true)) {
      browser.page("/");
      for (var action : ACTIONS) {
        if (!action.startsWith("do=resume")) {
          var page = browser.page("/act?" + action);
          for (var because : List.of("", "  ", "x".repeat(2_001))) {
            assertThat(browser.post("/act", Browser.form(page, because)).statusCode())
                .as(action)
                .isEqualTo(400);
          }
        }
      }
      assertThat(
              database.queryLong(
                  "select count(*) from pgonce.operation_log where what <> 'INSTALL'"))
          .isZero();
    }
  }

  private static void fill(TestDatabase database) throws Exception {
    Stage.retrying(database, "421 busy");
    Stage.bury(database, 1, "REJECTED", "no");
  }

  @Test
  void nothingIsDoneToWhatWasNotChosen(TestDatabase database) throws Exception {
    fill(database);
    try (var browser = new Browser(database.login(), true)) {
      browser.page("/");
      for (var wrong :
          List.of(
              "do=cancel&channel=mails",
              "do=cancel&channel=mails&all=yes",
              "do=retry-now&channel=mails",
              "do=redrive&channel=mails",
              "do=drop&channel=mails",
              "do=pause",
              "do=cancel&channel=mails&id=x",
              "do=redrive&channel=mails&all=yes&group=x",
              "do=cancel&channel=mails" + ids(1_001))) {
        assertThat(browser.get("/act?" + wrong).statusCode()).as(wrong).isEqualTo(400);
      }
    }
  }

  private static String ids(int count) {
    var ids = new StringBuilder();
    for (var id = 1; id <= count; id++) {
      ids.append("&id=").append(id);
    }
    return ids.toString();
  }

  @Tag("all")
  @Test
  void h34_aReadingConsoleAndAMonitorSeeNoButtonAndAreRefusedAllTheSame(TestDatabase database)
      throws Exception {
    fill(database);
    // The forms of one that may, with the tokens of those that may not.
    for (var reads :
        List.of(
            new Browser(database.login(), false),
            new Browser(database.loginRole("looks", "pgonce_monitor"), true))) {
      try (reads;
          var acts = new Browser(database.login(), true)) {
        for (var page :
            List.of(
                "/",
                "/channel/mails",
                "/channel/mails?show=dead",
                "/channel/mails/1",
                "/channel/mails/2",
                "/dead")) {
          assertThat(reads.page(page))
              .doesNotContain("/act")
              .doesNotContain("type=\"checkbox\"")
              .contains("For reading only.");
        }
        for (var action : ACTIONS) {
          assertThat(reads.get("/act?" + action).statusCode()).as(action).isEqualTo(403);
          var token = reads.server.csrfToken(reads.cookie);
          var refused = reads.post("/act", action + "&because=x&csrf=" + token);
          assertThat(refused.statusCode()).as(action).isEqualTo(403);
          assertThat(refused.body()).contains("database role has not the right");
        }
        assertThat(acts.page("/channel/mails")).contains("/act");
      }
    }
    assertThat(
            database.queryLong("select count(*) from pgonce.operation_log where what <> 'INSTALL'"))
        .isZero();
  }
}
