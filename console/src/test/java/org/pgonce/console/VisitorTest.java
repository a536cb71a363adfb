package org.pgonce.console;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * What a visitor may not, though the console and its database role may: an application that guards
 * the pages has no other bound for those who only look.
 */
@PgTest(Stage.class)
class VisitorTest {

  private static final Visitor LOOKS = Visitor.looking("Ann");
  private static final String PAYLOAD = "hunter2";

  private TestDatabase database;
  private Console console;

  @BeforeEach
  void open(TestDatabase fresh) throws Exception {
    database = fresh;
    Stage.publish(fresh, "{\"password\": \"" + PAYLOAD + "\"}");
    console = Console.of(fresh.dataSource(), true, 1);
  }

  private Response get(Visitor visitor, String query) {
    return console.answer(
        Request.of("", "GET", "/channel/mails/1", query, Map.of(), Map.of()), visitor);
  }

  @Test
  void whoMayNotReadPayloadsSeesNone() {
    assertThat(get(LOOKS, "").body()).doesNotContain("payload=show").doesNotContain(PAYLOAD);
    var refused = get(LOOKS, "payload=show");
    assertThat(refused.status()).isEqualTo(403);
    assertThat(refused.body())
        .contains("they are for persons who may operate")
        .doesNotContain(PAYLOAD);
    var reads = new Visitor("Bob", false, true, "", "");
    assertThat(get(reads, "").body()).contains("payload=show").doesNotContain(PAYLOAD);
    assertThat(get(reads, "payload=show").body()).contains(PAYLOAD);
  }

  @Test
  void whoMayNotActSeesNoButtonAndIsRefused() throws Exception {
    assertThat(get(LOOKS, "").body()).doesNotContain("/act").contains("For reading only.");
    for (var visitor : List.of(LOOKS, new Visitor("Bob", false, true, "csrf", "token"))) {
      var form =
          Map.of("do", List.of("pause"), "channel", List.of("mails"), "because", List.of("x"));
      var posted = console.answer(Request.of("", "POST", "/act", null, form, Map.of()), visitor);
      assertThat(posted.status()).isEqualTo(403);
      var asked =
          console.answer(
              Request.of("", "GET", "/act", "do=pause&channel=mails", Map.of(), Map.of()), visitor);
      assertThat(asked.status()).isEqualTo(403);
    }
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.subscription where paused_at is not null"))
        .isZero();
  }
}
