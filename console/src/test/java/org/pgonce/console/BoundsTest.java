package org.pgonce.console;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What is too large, too slow or too much. */
@Tag("all")
@PgTest(Stage.class)
class BoundsTest {

  private static Socket open(Browser browser) throws Exception {
    var socket = new Socket(InetAddress.getLoopbackAddress(), browser.server.port());
    socket.setSoTimeout(60_000);
    return socket;
  }

  @Test
  void aBodyThatIsTooLongIsRefused(TestDatabase database) throws Exception {
    try (var browser = new Browser(database.login(), true)) {
      browser.page("/");
      assertThat(browser.post("/act", "x=" + "y".repeat(65_536)).statusCode()).isEqualTo(413);
      assertThat(browser.post("/act", "&".repeat(2_001)).statusCode()).isEqualTo(400);
    }
  }

  /** By the JDK's bound, 10 s and a second for its timer. */
  @Test
  @Tag("all")
  void aRequestThatDoesNotArriveIsCutOff(TestDatabase database) throws Exception {
    try (var browser = new Browser(database.login(), true);
        var slow = open(browser)) {
      var begin = System.nanoTime();
      slow.getOutputStream().write("GET / HTTP/1.1\r\nHost: loc".getBytes(StandardCharsets.UTF_8));
      assertThat(slow.getInputStream().read()).isEqualTo(-1);
      assertThat((System.nanoTime() - begin) / 1e9).isBetween(5.0, 40.0);
      assertThat(browser.page("/")).contains("mails");
    }
  }

  /** As long as their connections are fewer than the server takes. */
  @Test
  void manyWhoDoNotSayAllKeepNobodyOut(TestDatabase database) throws Exception {
    var silent = new ArrayList<Socket>();
    try (var browser = new Browser(database.login(), true)) {
      try {
        for (var i = 0; i < 100; i++) {
          silent.add(open(browser));
          silent.get(i).getOutputStream().write("GET".getBytes(StandardCharsets.UTF_8));
        }
        var begin = System.nanoTime();
        assertThat(browser.page("/")).contains("mails");
        // The JDK cuts them off after 10 s, which would let it in as well.
        assertThat((System.nanoTime() - begin) / 1e9).isLessThan(9);
      } finally {
        for (var socket : silent) {
          socket.close();
        }
      }
    }
  }

  @Test
  @Tag("all")
  void manyPagesAtOnceAreAnsweredOrRefused(TestDatabase database) throws Exception {
    var threads = Executors.newFixedThreadPool(40);
    try (var browser = new Browser(database.login(), false)) {
      browser.page("/");
      var all = new ArrayList<Callable<Integer>>();
      for (var i = 0; i < 200; i++) {
        all.add(() -> browser.get("/server").statusCode());
      }
      for (var one : threads.invokeAll(all)) {
        assertThat(one.get()).isIn(200, 503);
      }
      assertThat(browser.page("/")).contains("mails");
    } finally {
      threads.shutdownNow();
    }
  }

  /** A filter that little fits would read all. */
  @Test
  void aFilterLooksThroughSoManyDeadLettersAndNoMore(TestDatabase database) throws Exception {
    Stage.bury(database, 1, "REJECTED", "the oldest");
    Stage.bury(database, 99_999, "REJECTED", "no");
    try (var browser = new Browser(database.login(), false)) {
      var oldest = "/channel/mails?show=dead&error=the+oldest";
      assertThat(browser.page(oldest))
          .contains("/channel/mails/1\"")
          .contains("the newest notifications first, of 100,000 in each subscription");
      Stage.bury(database, 1, "REJECTED", "no");
      assertThat(browser.page(oldest))
          .contains("No dead letter fits, of 100,000 in each subscription.")
          .doesNotContain("/channel/mails/1\"");
      assertThat(browser.page("/channel/mails?show=dead&after=3&of=default"))
          .contains("/channel/mails/1\"");
    }
  }

  /** The log has its bound, and so has the answer's wait. */
  @Test
  void aLockedTableIsAnErrorAndNoWait(TestDatabase database) throws Exception {
    try (var browser = new Browser(database.login(), true);
        var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      browser.page("/");
      connection.setAutoCommit(false);
      statement.execute("lock table pgonce.operation in access exclusive mode");
      var refused = browser.get("/log");
      assertThat(refused.statusCode()).isEqualTo(503);
      assertThat(refused.body()).contains("Somebody holds the lock");
    }
  }

  @Test
  void aClosedServerGivesItsPortBack(TestDatabase database) throws Exception {
    var browser = new Browser(database.login(), true);
    browser.page("/");
    browser.close();
    try (var again =
        ConsoleServer.start(
            Console.of(database.dataSource(), false, ConsoleServer.AT_ONCE),
            new ConsoleServer.Options(
                InetAddress.getLoopbackAddress(), browser.server.port(), Set.of(), false, null))) {
      assertThat(again.port()).isEqualTo(browser.server.port());
    }
    assertThat(
            Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("pgonce-console-"))
                .filter(Thread::isAlive)
                .filter(thread -> thread.getState() == Thread.State.RUNNABLE))
        .isEmpty();
  }
}
