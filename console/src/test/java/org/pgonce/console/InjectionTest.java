package org.pgonce.console;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Texts that would be markup, SQL or directions, from the database and from links. */
@PgTest(Stage.class)
class InjectionTest {

  private static final String MARKUP =
      "</td><script>alert(1)</script><img src=x onerror='alert(1)'>\"";

  @Test
  void errorsKeysReasonsAndPayloadsAreTexts(TestDatabase database) throws Exception {
    var quoted = MARKUP.replace("'", "''");
    Stage.bury(database, 1, "REJECTED", MARKUP);
    Stage.retrying(database, MARKUP);
    database.execute(
        "select pgonce.publish('mails', to_json('%s'::text), delivery_key => '%s')"
            .formatted(quoted, quoted));
    database.execute("select pgonce.pause('mails', '" + quoted + "')");
    try (var browser = new Browser(database.login(), true)) {
      for (var path :
          List.of(
              "/",
              "/channel/mails",
              "/channel/mails?show=dead",
              "/channel/mails/1",
              "/channel/mails/2",
              "/channel/mails/3?payload=show",
              "/dead",
              "/log")) {
        assertThat(browser.page(path))
            .as(path)
            .contains("&lt;script")
            .doesNotContain("<script>")
            .doesNotContain("<img");
      }
    }
  }

  /** The names of channels are checked by the table: a superuser can take the check away. */
  @Test
  void namesOfChannelsAreTextsEvenIfNobodyChecksThem(TestDatabase database) throws Exception {
    database.execute(
        "alter table pgonce.channel drop constraint channel_name_check; alter table pgonce.subscription drop constraint subscription_channel_id_of_channel_fkey; update pgonce.channel set name = 'javascript:alert(1)//\"><script>x</script>'");
    try (var browser = new Browser(database.login(), true)) {
      for (var path : List.of("/", "/definitions")) {
        var page = browser.page(path);
        assertThat(page).doesNotContain("<script>").contains("&lt;script");
        assertThat(Browser.links(page))
            .allMatch(link -> link.startsWith("/") || link.equals("#main"));
      }
      var link =
          Browser.links(browser.page("/")).stream()
              .filter(one -> one.startsWith("/channel/"))
              .findFirst()
              .orElseThrow();
      assertThat(browser.page(link)).doesNotContain("<script>").contains("Subscriptions");
    }
  }

  @Test
  void whatALinkSaysIsText(TestDatabase database) throws Exception {
    try (var browser = new Browser(database.login(), true)) {
      var markup = Browser.encoded(MARKUP).replace("+", "%20");
      for (var path :
          List.of(
              "/?name=" + markup,
              "/?after=" + markup,
              "/?did=" + markup + "&touched=1",
              "/?did=pause&touched=" + markup,
              "/dead?channel=" + markup,
              "/log?channel=" + markup,
              "/channel/" + markup,
              "/channel/mails?key=" + markup,
              "/channel/mails?state=" + markup,
              "/channel/mails?show=" + markup,
              "/channel/mails?show=dead&error=" + markup + "&reason=" + markup,
              "/channel/mails/" + markup,
              "/act?do=" + markup,
              "/act?do=redrive&all=yes&channel=mails&before=" + markup,
              "/act?do=redrive&all=yes&channel=mails&error=" + markup,
              "/act?do=pause&channel=" + markup,
              "/" + markup)) {
        var answer = browser.get(path);
        assertThat(answer.statusCode()).as(path).isNotEqualTo(500);
        assertThat(answer.body()).as(path).doesNotContain("<script>").doesNotContain("<img");
      }
    }
  }

  /** PostgreSQL has it in no text: it would be an error of the database. */
  @Test
  void aNulIsNotUnderstood(TestDatabase database) throws Exception {
    try (var browser = new Browser(database.login(), true)) {
      browser.page("/");
      for (var path :
          List.of(
              "/channel/mails%00",
              "/channel/mails?key=%00",
              "/dead?channel=mails%00",
              "/act?do=pause&channel=mails%00")) {
        assertThat(browser.get(path).statusCode()).as(path).isEqualTo(400);
      }
      var form = Browser.form(browser.page("/act?do=pause&channel=mails"), "because");
      assertThat(browser.post("/act", form + "%00").statusCode()).isEqualTo(400);
    }
  }

  @Test
  void textsThatTurnTheWritingAroundAreShownEscaped(TestDatabase database) throws Exception {
    Stage.bury(database, 1, "REJECTED", "a\u202eb\u0007c");
    try (var browser = new Browser(database.login(), false)) {
      assertThat(browser.page("/dead")).contains("a\\u202eb\\u0007c").doesNotContain("\u202e");
      Stage.publish(database, "{\"to\": \"a\u202eb\",\n \"x\": 1}");
      assertThat(browser.page("/channel/mails/2?payload=show"))
          .contains("{\"to\": \"a\\u202eb\",\n \"x\": 1}")
          .doesNotContain("\u202e");
    }
  }

  @Test
  void aTextIsNoSql(TestDatabase database) throws Exception {
    Stage.bury(database, 2, "REJECTED", "no");
    try (var browser = new Browser(database.login(), true)) {
      var sql = Browser.encoded("x') OR true; DROP SCHEMA pgonce CASCADE; --");
      assertThat(browser.page("/dead?channel=" + sql)).contains("No dead letter fits");
      assertThat(browser.page("/channel/mails?show=dead&error=" + sql))
          .contains("No dead letter fits");
      assertThat(browser.page("/act?do=discard&channel=mails&all=yes&error=" + sql))
          .contains("Nothing fits");
      assertThat(database.queryLong("select count(*) from pgonce.dead_letter")).isEqualTo(2);
    }
  }
}
