package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.TimeZone;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/** For people a time is in their zone, in columns and texts alike; for scripts it is ISO 8601. */
@PgTest(PgOnceInstalled.class)
class TimesTest {

  private final TimeZone ownZone = TimeZone.getDefault();

  @AfterEach
  void back() {
    TimeZone.setDefault(ownZone);
  }

  @ParameterizedTest
  @CsvSource({"UTC, +00", "GMT+01:00, +01", "America/Phoenix, -07", "Asia/Kathmandu, +05:45"})
  void columnsAndTextsAreInTheZoneOfWhoAsks(String zone, String offset, TestDatabase database)
      throws Exception {
    TimeZone.setDefault(TimeZone.getTimeZone(zone));
    Cli.bury(database, 1, "REJECTED", "no");
    database.execute("select pgonce.pause('mails', 'x')");
    var cli = new Cli(database.login());
    var died = shown(cli.run("explain", "mails", "-o", "json").json(), "since", zone) + offset;
    assertThat(cli.run("explain", "mails").out())
        .containsPattern("since +" + died.replace("+", "\\+") + "\n")
        .contains("the newest of " + died + ": no");
    assertThat(cli.run("dead").out()).contains(" " + died + " ");
    assertThat(cli.run("dead", "--from", died).out()).contains("REJECTED");
    var paused = shown(cli.run("status", "-o", "json").json(), "paused_since", zone) + offset;
    assertThat(cli.run("doctor").out()).contains("paused since " + paused + " by ");
    assertThat(cli.run("log").out()).contains(offset + "  PAUSE");
  }

  /** Without the offset. */
  private static String shown(JsonNode rows, String name, String zone) {
    return DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss")
        .format(Instant.parse(rows.get(0).get(name).asString()).atZone(ZoneId.of(zone)));
  }
}
