package org.pgonce.console;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/** Each page, read by HTTP. */
@PgTest(Stage.class)
@Tag("versions")
@Tag("drivers")
class PagesTest {

  private static final List<String> PAGES =
      List.of(
          "/",
          "/channel/mails",
          "/channel/mails?show=work",
          "/channel/mails?show=dead",
          "/channel/mails/1",
          "/dead",
          "/listeners",
          "/definitions",
          "/log",
          "/server");

  @Tag("all")
  @Test
  void eachPageIsThereForAMonitorToo(TestDatabase database) throws Exception {
    Stage.publish(database, "1");
    for (var login : List.of(database.login(), database.loginRole("looks", "pgonce_monitor"))) {
      try (var browser = new Browser(login, true)) {
        for (var path : PAGES) {
          assertThat(browser.page(path))
              .contains("<h1>")
              .contains("lang=\"en\"")
              .doesNotContain("<script>")
              .doesNotContain("style=")
              .doesNotContain("onclick");
        }
        assertThat(browser.get("/nowhere").statusCode()).isEqualTo(404);
        assertThat(browser.get("/channel/nowhere").statusCode()).isEqualTo(404);
        assertThat(browser.get("/channel/mails/many").statusCode()).isEqualTo(400);
        assertThat(browser.get("/channel/mails?after=x").statusCode()).isEqualTo(400);
      }
    }
  }

  @Test
  void channelsSayWhatWaitsAndWhatIsPaused(TestDatabase database) throws Exception {
    Stage.publish(database, "1");
    Stage.bury(database, 1_234, "REJECTED", "no");
    database.execute("select pgonce.pause('mails', 'the server is down')");
    try (var browser = new Browser(database.login(), false)) {
      assertThat(browser.page("/"))
          .contains("1,234")
          .contains("nobody listens")
          .contains("Paused: channel mails, subscription default, by ")
          .contains("the server is down")
          .contains("aria-label=\"1 wait; the line grows while the page is open.\"");
      assertThat(browser.page("/?name=mai")).contains("/channel/mails\"");
      assertThat(browser.page("/?name=other")).contains("No channel fits");
      assertThat(browser.page("/?show=trouble")).contains("/channel/mails\"");
    }
  }

  @Test
  void aChannelWithoutASubscriptionSaysSo(TestDatabase database) throws Exception {
    database.execute("select pgonce.drop_subscription('mails', 'default')");
    try (var browser = new Browser(database.login(), false)) {
      assertThat(browser.page("/definitions")).contains("/channel/mails\"", "NO_SUBSCRIPTION");
      assertThat(browser.get("/channel/mails").body())
          .contains("no subscription any more", "install it again", "drop it");
    }
  }

  @Test
  void aStandbySaysSo() throws Exception {
    try (var server = TestServer.start(Map.of())) {
      var database = server.createDatabase();
      new Stage().make(database);
      try (var browser = new Browser(database.login(), false)) {
        assertThat(browser.page("/")).doesNotContain("standby");
      }
      var data = Path.of(database.queryString("show data_directory"));
      server.stopImmediately();
      Files.createFile(data.resolve("standby.signal"));
      server.restart();
      try (var browser = new Browser(database.login(), false)) {
        assertThat(browser.page("/")).contains("The server is a standby: ");
      }
    }
  }

  @Test
  void aCountThatHasEndedSaysSo(TestDatabase database) throws Exception {
    database.execute(
        "insert into pgonce.notification (id, subscription_id, created_at, payload) select n, s.id, now(), '1'"
            + " from pgonce.subscription s, generate_series(1000000, 1100000) n where s.of_channel = 'mails' and s.name = 'default'");
    try (var browser = new Browser(database.login(), false)) {
      assertThat(browser.page("/"))
          .contains("100,000+")
          .contains(" wait (100,000 of a subscription at the most are counted); the line grows");
    }
  }

  @Test
  void whatLooksIdleAndIsNotSaysWhy(TestDatabase database) throws Exception {
    try (var browser = new Browser(database.login(), false)) {
      assertThat(browser.page("/?show=trouble")).doesNotContain("/channel/mails\"");
      assertThat(browser.page("/channel/mails")).doesNotContain("Why nothing comes");
      database.execute("update pgonce.channel set feed = 'trigger on mail'");
      browser.server.forget();
      assertThat(browser.page("/?show=trouble"))
          .contains("/channel/mails\"")
          .contains("no table has its trigger: see explain");
      assertThat(browser.page("/channel/mails"))
          .contains("Why nothing comes, in subscription default")
          .contains("NOT_STORED");
    }
  }

  @Test
  void aChannelShowsWhatWaitsIsScheduledAndRetries(TestDatabase database) throws Exception {
    Stage.publish(database, "1");
    Stage.retrying(database, "421 busy");
    database.execute(
        "select pgonce.publish('mails', '1', due_at => now() + interval '1 day', delivery_key => 'the key')");
    try (var browser = new Browser(database.login(), false)) {
      assertThat(browser.page("/channel/mails"))
          .contains(">waiting<")
          .contains(">scheduled<")
          .contains(">retrying<")
          .contains("421 busy")
          .contains("EXACTLY_ONCE");
      assertThat(rows(browser.page("/channel/mails?state=scheduled"))).isEqualTo(1);
      assertThat(rows(browser.page("/channel/mails?key=the+key"))).isEqualTo(1);
      assertThat(rows(browser.page("/channel/mails?key=other"))).isZero();
      assertThat(browser.get("/channel/mails?subscription=other").statusCode()).isEqualTo(404);
    }
  }

  /** The row of a lease counts its attempt from the beginning. */
  @Test
  void whatIsAtWorkIsNotCalledRetrying(TestDatabase database) throws Exception {
    database.execute("select pgonce.change_mode('mails', 'AT_LEAST_ONCE')");
    database.execute(
        """
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, token)
        select s.id, 7, now() + interval '1 hour', 1, now(), '1', gen_random_uuid() from pgonce.subscription s
        """);
    Stage.retrying(database, "421 busy");
    try (var browser = new Browser(database.login(), false)) {
      assertThat(rows(browser.page("/channel/mails?state=at+work"))).isEqualTo(1);
      assertThat(rows(browser.page("/channel/mails?state=retrying"))).isEqualTo(1);
      assertThat(browser.page("/channel/mails/7")).doesNotContain("next attempt, after");
      assertThat(browser.page("/channel/mails?show=work")).contains("/channel/mails/7\"");
      // Once its lease has expired, its attempt has failed.
      database.execute("update pgonce.scheduled set due_at = now() where id = 7");
      assertThat(rows(browser.page("/channel/mails?state=at+work"))).isZero();
      assertThat(rows(browser.page("/channel/mails?state=retrying"))).isEqualTo(2);
    }
  }

  /** Of the page's list: each has a link to a notification. */
  private static long rows(String page) {
    return Browser.links(page).stream().filter(link -> link.matches("/channel/mails/\\d+")).count();
  }

  @Test
  void listsGoOnWhereThePageBeforeEnded(TestDatabase database) throws Exception {
    database.execute("select pgonce.publish('mails', '1') from generate_series(1, 120)");
    Stage.bury(database, 120, "REJECTED", "no");
    try (var browser = new Browser(database.login(), false)) {
      for (var first : List.of("/channel/mails", "/channel/mails?show=dead&reason=REJECTED")) {
        var seen = new TreeSet<String>();
        var path = first;
        var pages = 0;
        while (path != null) {
          var page = browser.page(path);
          pages++;
          seen.addAll(
              Browser.links(page).stream()
                  .filter(link -> link.matches("/channel/mails/\\d+"))
                  .toList());
          path =
              Browser.links(page).stream()
                  .filter(link -> link.contains("after="))
                  .findFirst()
                  .orElse(null);
        }
        assertThat(pages).isEqualTo(3);
        assertThat(seen).hasSize(120);
      }
    }
  }

  @Test
  void whatIsAtWorkShowsItsLastSql(TestDatabase database) throws Exception {
    Stage.publish(database, "1");
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement();
        var browser = new Browser(database.login(), false)) {
      connection.setAutoCommit(false);
      statement.execute("select id from pgonce.notification for update");
      assertThat(browser.page("/channel/mails?show=work"))
          .contains("select id from pgonce.notification for update");
      assertThat(rows(browser.page("/channel/mails?state=at+work"))).isEqualTo(1);
      assertThat(browser.page("/channel/mails/1")).contains("AT_WORK").contains("last SQL");
    }
  }

  @Test
  void aNotificationSaysWhyWhatToDoAndItsWay(TestDatabase database) throws Exception {
    Stage.publish(database, "{\"secret\": 7}");
    Stage.bury(database, 1, "REJECTED", "no such account");
    Stage.retrying(database, "421 busy");
    try (var browser = new Browser(database.login(), false)) {
      assertThat(browser.page("/channel/mails/1"))
          .contains("NO_LISTENER")
          .contains("Start the service")
          .doesNotContain("secret&#34;")
          .contains("Show the payload");
      assertThat(browser.page("/channel/mails/1")).contains("data-live=\"true\"");
      assertThat(browser.page("/channel/mails/1?payload=show"))
          .contains("{\"secret\": 7}")
          .contains("data-live=\"false\"");
      assertThat(browser.page("/channel/mails/2"))
          .contains("DEAD")
          .contains("became a dead letter after 10 attempts, REJECTED: no such account");
      assertThat(browser.page("/channel/mails/3"))
          .contains("RETRYING")
          .contains("next attempt, after 3 failed: 421 busy");
      assertThat(browser.page("/channel/mails/99")).contains("DONE_OR_NEVER");
    }
  }

  @Test
  void whatWasHandledOffersNothingToDo(TestDatabase database) throws Exception {
    database.execute("update pgonce.channel set history = interval '1 day'");
    database.execute(
        """
        insert into pgonce.handled (subscription_id, id, created_at, due_at, claimed_at, handled_at, took, attempts, instance, skipped)
        select s.id, 7, now(), now(), now(), now(), interval '5 ms', 1, 'mailer', false from pgonce.subscription s where s.of_channel = 'mails'
        """);
    try (var browser = new Browser(database.login(), true)) {
      assertThat(browser.page("/channel/mails/7"))
          .contains("HANDLED")
          .doesNotContain("do=retry-now")
          .doesNotContain("do=cancel")
          .doesNotContain("payload");
    }
  }

  /** As a pid it would be taken for a process of the server, which a person may end. */
  @Test
  void aProcessWithoutANameIsNotShownAsAPid(TestDatabase database) throws Exception {
    database.execute("set pgonce.operator = 'pid 4711'; select pgonce.pause('mails', 'down')");
    try (var browser = new Browser(database.login(), false)) {
      assertThat(browser.page("/")).contains("by instance 'pid 4711' since");
      assertThat(browser.page("/log")).contains("instance 'pid 4711'");
    }
  }

  @Test
  void aMonitorSeesNoPayload(TestDatabase database) throws Exception {
    Stage.publish(database, "{\"secret\": 7}");
    try (var browser = new Browser(database.loginRole("looks", "pgonce_monitor"), true)) {
      assertThat(browser.page("/channel/mails/1")).doesNotContain("Show the payload");
      var refused = browser.get("/channel/mails/1?payload=show");
      assertThat(refused.statusCode()).isEqualTo(403);
      assertThat(refused.body()).doesNotContain("secret\"");
    }
  }

  @Test
  void deadLettersAreGroupedByTheirError(TestDatabase database) throws Exception {
    Stage.bury(database, 3, "ATTEMPTS_USED_UP", "421 busy");
    Stage.bury(database, 2, "REJECTED", "100% of '_' <b>");
    try (var browser = new Browser(database.login(), false)) {
      var page = browser.page("/dead");
      assertThat(page).contains("421 busy").contains("100% of '_' &lt;b");
      var group =
          Browser.links(page).stream().filter(link -> link.contains("group=")).toList().get(1);
      assertThat(rows(browser.page(group))).isEqualTo(2);
      assertThat(rows(browser.page("/channel/mails?show=dead&error=0%25+of"))).isEqualTo(2);
      assertThat(rows(browser.page("/channel/mails?show=dead&error=_"))).isEqualTo(2);
      assertThat(browser.page("/dead?channel=none")).contains("No dead letter fits");
    }
  }

  @Test
  void theServerPageHasWhatDoctorFinds(TestDatabase database) throws Exception {
    database.execute("create publication all_tables for all tables");
    try (var browser = new Browser(database.login(), false)) {
      assertThat(browser.page("/server")).contains("PUBLICATION").contains(database.name());
    }
  }

  @Test
  void definitionsShowDrift(TestDatabase database) throws Exception {
    database.execute(
        "create or replace function pgonce_private.only(id bigint) returns bigint[] language sql immutable as 'select array[id]'");
    try (var browser = new Browser(database.login(), false)) {
      assertThat(browser.page("/definitions"))
          .contains("FUNCTION_DRIFT")
          .contains("pgonce_private.only")
          .contains("EXACTLY_ONCE");
    }
  }

  @Test
  void whatTheDatabaseRefusesIsSaidInWords(TestDatabase database) throws Exception {
    try (var browser = new Browser(database.loginRole("stranger"), false)) {
      var refused = browser.get("/");
      assertThat(refused.statusCode()).isEqualTo(403);
      assertThat(refused.body()).contains("GRANT pgonce_monitor").doesNotContain("SELECT g.");
    }
  }
}
