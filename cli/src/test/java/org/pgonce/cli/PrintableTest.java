package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Whoever may publish chooses texts that an operator reads. */
@PgTest(PgOnceInstalled.class)
class PrintableTest {

  private static final String CLEARS_THE_SCREEN = "\u001b[2J\u009b2J\u202e\u0007\r\nfine";

  @Test
  void nothingOfTheDatabaseIsObeyedByATerminal(TestDatabase database) throws Exception {
    Cli.bury(database, 1, "REJECTED", CLEARS_THE_SCREEN);
    database.execute(
        """
        select pgonce.publish('mails', '{"a":\n\t"\u009b2J\u202e"}', delivery_key => e'\\u001b[2J\\u009b')
        """);
    var cli = new Cli(database.login());
    cli.run("pause", "mails", "--because", CLEARS_THE_SCREEN).ends(0);
    for (var look :
        new String[] {
          "dead",
          "dead --group",
          "peek mails --payload",
          "explain mails",
          "log",
          "status",
          "explain mails 1"
        }) {
      for (var format : new String[] {"table", "json"}) {
        var run = cli.run((look + " -o " + format).split(" "));
        assertThat(run.out().replace("\n", "")).as(look).doesNotContainPattern("[\\p{Cc}\\p{Cf}]");
        if (format.equals("json")) {
          assertThat(run.json()).isNotEmpty();
        }
      }
    }
    assertThat(cli.run("dead").out()).contains("\\u001b[2J\\u009b2J\\u202e\\u0007\\r\\nfine");
    assertThat(cli.run("dead", "-o", "json").json().get(0).get("error").asString())
        .isEqualTo(CLEARS_THE_SCREEN);
    assertThat(
            cli.run("peek", "mails", "--payload", "-o", "json")
                .json()
                .get(0)
                .get("payload")
                .get("a")
                .asString())
        .isEqualTo("\u009b2J\u202e");
    var error = cli.run("pause", CLEARS_THE_SCREEN, "--because", "x").ends(1).err();
    assertThat(error.replace("\n", "")).doesNotContainPattern("[\\p{Cc}\\p{Cf}]");
  }
}
