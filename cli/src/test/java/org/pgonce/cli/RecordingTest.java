package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.Terminal;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * The recording in docs/command-line.md is what {@code status --watch} shows while something
 * happens, but for times. With {@code -Dpgonce.texts.write=true} it is recorded anew.
 */
@PgTest(PgOnceInstalled.class)
class RecordingTest {

  private static final Path PICTURE = Path.of("..", "docs", "command-line", "status-watch.svg");
  private static final String TO_THE_TOP = "\u001b[H\u001b[2J";

  private static final List<String> WHAT_HAPPENS =
      List.of(
          "select pgonce.publish('mails', '1') from generate_series(1, 40)",
          """
          insert into pgonce.listener (id, instance, subscriptions, workers, outdated, listens_by, silence)
          select gen_random_uuid(), 'mailer-1', array_agg(s.id), '{4}', '{""}', 'pgjdbc-ng', interval '1 hour' from pgonce.subscription s
          """,
          """
          with failed as (delete from pgonce.notification n where n.subscription_id > 0 returning n.*)
          insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, last_error, payload)
          select f.subscription_id, f.id, now() + interval '1 hour', 1, f.created_at, '421 service not available', f.payload from failed f
          """,
          "select pgonce.pause('mails', 'the mail server is down')",
          "select pgonce.resume('mails', 'it is back'); delete from pgonce.scheduled s where s.subscription_id > 0");

  /** Between two looks, when the command asks whether its reader is still there. */
  private static final class Screen extends PrintStream {

    private final ByteArrayOutputStream shown;
    private final TestDatabase database;
    private final Iterator<String> happens = WHAT_HAPPENS.iterator();

    Screen(ByteArrayOutputStream shown, TestDatabase database) {
      super(shown, true, StandardCharsets.UTF_8);
      this.shown = shown;
      this.database = database;
    }

    @Override
    public boolean checkError() {
      if (!happens.hasNext()) {
        return true;
      }
      try {
        database.execute(happens.next());
      } catch (SQLException e) {
        throw new IllegalStateException(e);
      }
      return false;
    }

    List<String> screens() {
      var screens = new ArrayList<String>();
      for (var one : shown.toString(StandardCharsets.UTF_8).split("\\Q" + TO_THE_TOP + "\\E", -1)) {
        if (!one.isEmpty()) {
          screens.add(one.replaceAll("\\b\\d\\ds\\b", " 0s").replaceAll("\\b\\ds\\b", "0s"));
        }
      }
      return screens;
    }
  }

  @Test
  @Tag("all")
  void thePageHasARecordingOfAWatch(TestDatabase database) throws Exception {
    Cli.publish(database, "1");
    var screen = new Screen(new ByteArrayOutputStream(), database);
    var terminal =
        new Terminal(
            new ByteArrayInputStream(new byte[0]),
            screen,
            System.err,
            true,
            Cli.variables(database.login()),
            null);
    assertThat(PgOnceCommand.run(terminal, () -> false, "status", "--watch", "--every", "1"))
        .isEqualTo(ExitStatus.DONE);
    var screens = screen.screens();
    assertThat(screens).hasSize(WHAT_HAPPENS.size() + 1);
    assertThat(screens.get(4)).contains("the mail server is down");
    var svg = new Recording("pgonce status --watch", screens).svg();
    if (Boolean.getBoolean("pgonce.texts.write")) {
      Files.createDirectories(PICTURE.getParent());
      Files.writeString(PICTURE, svg);
    } else {
      assertThat(Files.readString(PICTURE)).isEqualTo(svg);
    }
    assertThat(Files.readString(Path.of("..", "docs", "command-line.md")))
        .contains("(command-line/status-watch.svg)");
  }
}
