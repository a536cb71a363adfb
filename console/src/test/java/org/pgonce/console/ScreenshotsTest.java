package org.pgonce.console;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.sql.Statement;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.openqa.selenium.OutputType;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * The pictures of docs/console. They differ from run to run by times, so they are not compared;
 * {@code -Dpgonce.screenshots.write=true} takes them anew.
 */
@PgTest(Stage.class)
class ScreenshotsTest {

  private static final Path PICTURES = Path.of("..", "docs", "console");
  private static final long LARGEST = 200_000;

  @Test
  void eachPageHasAPictureInTheDocs(TestDatabase database) throws Exception {
    if (Boolean.getBoolean("pgonce.screenshots.write")) {
      take(database);
    }
    var page = Files.readString(PICTURES.resolveSibling("console.md"));
    for (var name : SamplePages.ALL.keySet()) {
      if (!name.equals("refused")) {
        assertThat(page).contains("console/" + name + ".png");
        assertThat(Files.size(PICTURES.resolve(name + ".png"))).isBetween(1_000L, LARGEST);
      }
    }
  }

  /** As a listener does with its heartbeat. */
  private static void listen(Statement handler) throws SQLException {
    handler.execute(
        """
        insert into pgonce.listener (id, instance, subscriptions, workers, outdated, sessions, listens_by, silence)
        select gen_random_uuid(), 'mailer-1', array_agg(s.id), '{4}', '{\"\"}', array[pg_backend_pid()], 'pgjdbc-ng', interval '1 hour' from pgonce.subscription s
        """);
  }

  private static void take(TestDatabase database) throws Exception {
    SamplePages.fill(database);
    Files.createDirectories(PICTURES);
    var driver = Chromium.start(true);
    try (var console = new Browser(database.login(), true);
        var handler = database.dataSource().getConnection();
        var statement = handler.createStatement()) {
      Stage.publish(database, "{\"to\": \"bob@example.org\"}");
      listen(statement);
      handler.setAutoCommit(false);
      statement.execute(
          "select n.id from pgonce.notification n where n.subscription_id > 0 order by n.id desc limit 1 for update");
      statement.execute("create temporary table sent as select 'bob@example.org' as recipient");
      driver.get(console.server.url()); // the session
      for (var one : SamplePages.ALL.entrySet()) {
        if (!one.getKey().equals("refused")) {
          Chromium.prefer(driver, one.getKey().equals("channels") ? "dark" : "light");
          driver.get(console.server.url() + one.getValue());
          var bytes = driver.getScreenshotAs(OutputType.BYTES);
          var picture = ImageIO.read(new ByteArrayInputStream(bytes));
          ImageIO.write(picture, "png", PICTURES.resolve(one.getKey() + ".png").toFile());
        }
      }
    } finally {
      driver.quit();
    }
  }
}
