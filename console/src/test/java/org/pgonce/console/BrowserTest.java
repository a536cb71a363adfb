package org.pgonce.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.deque.html.axecore.selenium.AxeBuilder;
import java.io.ByteArrayInputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.imageio.ImageIO;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.interactions.Actions;
import org.openqa.selenium.logging.LogType;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The pages in Chromium: by keyboard, without scripts, light and dark, and as axe sees them. */
@PgTest(Stage.class)
@Tag("all")
class BrowserTest {

  private static final Duration SOON = Duration.ofSeconds(45);

  /** Many more than a page has, and more than a person would go through. */
  private static final int MOST_TABS = 200;

  // Each start takes seconds of both processors.
  private static @Nullable ChromeDriver withScripts;

  private TestDatabase database;
  private Browser console;
  private ChromeDriver driver;

  @BeforeEach
  void open(TestDatabase fresh) throws Exception {
    database = fresh;
    SamplePages.fill(fresh);
    console = new Browser(fresh.login(), true);
  }

  @AfterEach
  void close() {
    if (driver != null && driver != withScripts) {
      driver.quit();
    }
    if (console != null) {
      console.close();
    }
  }

  @AfterAll
  static void quit() {
    if (withScripts != null) {
      withScripts.quit();
      withScripts = null;
    }
  }

  private void start(boolean scripts) {
    driver = scripts ? withScripts() : Chromium.start(false);
    show("");
  }

  /** As it was started: what a test has left is gone. */
  private static ChromeDriver withScripts() {
    if (withScripts == null) {
      withScripts = Chromium.start(true);
    }
    withScripts.get("about:blank");
    withScripts.executeCdpCommand("Network.clearBrowserCookies", Map.of());
    Chromium.prefer(withScripts, "light");
    withScripts.manage().logs().get(LogType.BROWSER);
    return withScripts;
  }

  private void show(String path) {
    driver.get(console.server.url() + path);
  }

  private String text() {
    return driver.findElement(By.tagName("body")).getText();
  }

  /**
   * It opens no window of its own, for which it gives the browser one second: no page has frames.
   */
  @SuppressWarnings("deprecation")
  private static AxeBuilder axe() {
    return new AxeBuilder().setLegacyMode(true);
  }

  @Test
  void axeFindsNoSeriousFaultInLightOrDark() throws Exception {
    start(true);
    var faults = new ArrayList<String>();
    for (var scheme : List.of("light", "dark")) {
      Chromium.prefer(driver, scheme);
      // But for their colours, the pages are the same in both.
      var axe = scheme.equals("light") ? axe() : axe().withTags(List.of("cat.color"));
      for (var page : SamplePages.ALL.entrySet()) {
        show(page.getValue());
        for (var fault : axe.analyze(driver).getViolations()) {
          if (!List.of("minor", "moderate").contains(fault.getImpact())) {
            faults.add(
                "%s %s: %s (%s) %s"
                    .formatted(
                        scheme, page.getKey(), fault.getHelp(), fault.getId(), fault.getNodes()));
          }
        }
      }
    }
    assertThat(faults).isEmpty();
  }

  @Test
  void lightAndDarkDiffer() throws Exception {
    start(true);
    var colors = new ArrayList<Integer>();
    for (var scheme : List.of("light", "dark")) {
      Chromium.prefer(driver, scheme);
      show("");
      var picture =
          ImageIO.read(new ByteArrayInputStream(driver.getScreenshotAs(OutputType.BYTES)));
      colors.add(picture.getRGB(5, picture.getHeight() - 5) & 0xff);
    }
    assertThat(colors.get(0)).isGreaterThan(200);
    assertThat(colors.get(1)).isLessThan(60);
  }

  @Test
  void allCanBeReadWithoutScripts() {
    start(false);
    for (var page : SamplePages.ALL.entrySet()) {
      show(page.getValue());
      assertThat(driver.findElements(By.id("refresh"))).as("a script has run").isEmpty();
      assertThat(driver.findElement(By.tagName("h1")).getText()).as(page.getKey()).isNotBlank();
    }
    show("");
    assertThat(text()).contains("mails").contains("15").contains("Backlog");
    show("channel/mails/1");
    assertThat(text()).contains("NO_LISTENER").contains("Start the service");
  }

  /** The browser reports what the policy forbids, and what fails. */
  @Test
  void noPageBreaksItsOwnPolicy() {
    start(true);
    for (var page : SamplePages.ALL.entrySet()) {
      show(page.getValue());
      var logged = new ArrayList<String>();
      driver.manage().logs().get(LogType.BROWSER).getAll().stream()
          .map(Object::toString)
          .filter(line -> !line.contains("404"))
          .forEach(logged::add);
      assertThat(logged).as(page.getKey()).isEmpty();
    }
  }

  @Test
  void aLivePageShowsWhatComesAndCanBeStopped() throws Exception {
    start(true);
    assertThat(text()).contains("2 wait");
    Stage.publish(database, "2");
    await().atMost(SOON).until(() -> text().contains("3 wait"));
    // Two looks make a line.
    await()
        .atMost(SOON)
        .until(
            () ->
                driver
                    .findElement(By.cssSelector("#waiting polyline"))
                    .getDomAttribute("points")
                    .contains(" "));
    driver.findElement(By.id("refresh")).click();
    assertThat(driver.findElement(By.id("refresh")).getText()).isEqualTo("Refresh every 2 s");
    console.close();
    driver.findElement(By.id("refresh")).click();
    await().atMost(SOON).until(() -> text().contains("the console does not answer"));
    console = null;
  }

  @Test
  void aRefreshBringsAndTakesAwayThePauseAndItsButton() throws Exception {
    start(true);
    show("channel/mails");
    assertThat(text()).contains("Pause…").doesNotContain("Paused: ");
    database.execute("select pgonce.pause('mails', 'the server is down')");
    await().atMost(SOON).until(() -> text().contains("Paused: channel mails"));
    await().atMost(SOON).until(() -> text().contains("Resume…"));
    assertThat(text().indexOf("Paused: channel mails")).isLessThan(text().indexOf("Backlog"));
    database.execute("select pgonce.resume('mails', 'it is up')");
    await().atMost(SOON).until(() -> !text().contains("Paused: "));
    assertThat(text()).contains("Pause…");
  }

  @Test
  void aRefreshSaysWhyItIsNotMovingNow() throws Exception {
    start(true);
    show("channel/mails/1");
    assertThat(text()).contains("NO_LISTENER");
    database.execute("select pgonce.pause('mails', 'the server is down')");
    await().atMost(SOON).until(() -> text().contains("PAUSED"));
    database.execute("select pgonce.cancel('mails', 1)");
    await().atMost(SOON).until(() -> text().contains("DONE_OR_NEVER"));
    assertThat(text()).doesNotContain("Cancel…");
  }

  /** What somebody has chosen is not taken away by a refresh. */
  @Test
  void aRefreshKeepsWhatWasChosen() throws Exception {
    start(true);
    show("channel/mails");
    driver.findElement(By.cssSelector("input[name=id][value='default/1']")).click();
    Stage.publish(database, "2");
    await().atMost(SOON).until(() -> text().contains("3 wait"));
    assertThat(driver.findElement(By.cssSelector("input[name=id][value='default/1']")).isSelected())
        .isTrue();
  }

  @Test
  void eachActionByKeyboardAlone() throws Exception {
    start(true);
    Chromium.prefer(driver, "light");
    press(Keys.TAB);
    assertThat(focused()).isEqualTo("To the content");
    tabTo("mails");
    press(Keys.ENTER);
    confirm("Pause…", "the mail server is down", "1 subscriptions paused.");
    confirm("Resume…", "it is back", "1 subscriptions resumed.");
    choose("notification 2");
    confirm("Retry now…", "it is back", "1 notifications made due.");
    choose("notification 2");
    confirm("Cancel…", "not wanted", "1 notifications cancelled.");
    show("channel/mails?show=dead");
    choose("dead letter 5");
    confirm("Redrive…", "it is back", "1 dead letters redriven.");
    choose("dead letter 6");
    confirm("Discard…", "a test", "1 dead letters discarded.");
    show("dead");
    tabTo("Redrive 10 of mails…");
    press(Keys.ENTER);
    give("it is back", "10 dead letters redriven.");
    show("channel/mails?show=dead");
    confirm("Discard all that fit…", "a test", "3 dead letters discarded.");
    show("channel/mails/1");
    tabTo("Show the payload, which may be secret");
    press(Keys.ENTER);
    await().atMost(SOON).until(() -> text().contains("ann@example.org"));
    assertThat(
            database.queryString(
                "select string_agg(o.what || ' ' || o.concerned, ', ' order by o.id) from"
                    + " pgonce.operation_log o where o.operator = 'Ada'"))
        .isEqualTo(
            "PAUSE 1, RESUME 1, RETRY_NOW 1, CANCEL 1, REDRIVE 1, DISCARD 1, REDRIVE 10, DISCARD"
                + " 3");
  }

  private void choose(String row) {
    tabTo("Choose " + row);
    press(Keys.SPACE);
  }

  private void confirm(String button, String because, String done) {
    tabTo(button);
    press(Keys.ENTER);
    give(because, done);
  }

  private void give(String because, String done) {
    // The field has the focus from the start.
    await()
        .atMost(SOON)
        .until(() -> "because".equals(driver.switchTo().activeElement().getDomAttribute("id")));
    new Actions(driver).sendKeys(because).sendKeys(Keys.ENTER).perform();
    await().atMost(SOON).until(() -> text().contains(done));
  }

  private void press(Keys key) {
    new Actions(driver).sendKeys(key).perform();
  }

  private void tabTo(String name) {
    for (var tabs = 0; tabs < MOST_TABS; tabs++) {
      if (name.equals(focused())) {
        return;
      }
      press(Keys.TAB);
    }
    throw new AssertionError(
        name
            + " is not reached by "
            + MOST_TABS
            + " tabs on "
            + driver.getCurrentUrl()
            + "\n"
            + text());
  }

  /** In one round trip to the browser: it is asked for behind each key. */
  private String focused() {
    return String.valueOf(
        driver.executeScript(
            "const e = document.activeElement; return e.getAttribute('aria-label') ?? e.innerText.trim()"));
  }
}
