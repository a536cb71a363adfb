package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.crash.CrashEffects.BOUND;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Mode;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/** The crash matrix up to the claim: four modes each. */
@PgTest(PgOnceInstalled.class)
class CrashMatrixPublishTest {

  private static @Nullable TestServer mortal;

  /** One server for all that are killed: to make one takes its time. */
  private static TestServer mortal() {
    var server = mortal == null ? TestServer.start() : mortal;
    mortal = server;
    return server;
  }

  @AfterAll
  static void stopServer() {
    if (mortal != null) {
      mortal.close();
    }
  }

  /** Publishes in a process of its own, and does not commit. */
  static final class PublishingProcess {
    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      var login =
          new Login(arguments[0], Integer.parseInt(arguments[1]), arguments[2], arguments[3], "");
      try (var connection = login.dataSource().getConnection()) {
        connection.setAutoCommit(false);
        Publisher.standard()
            .publish(
                connection, CrashEffects.channel(Mode.valueOf(arguments[4])), new Order(1, "item"));
        System.out.println("published");
        new CountDownLatch(1).await(BOUND.toSeconds(), TimeUnit.SECONDS);
      }
    }
  }

  @ParameterizedTest(name = "{0}")
  @EnumSource(Mode.class)
  void h49_aPublisherThatIsKilledBeforeItsCommitLeavesNothing(Mode mode, TestDatabase database)
      throws Exception {
    try (var stage = new CrashStage(database, mode);
        var publisher =
            JvmProcess.start(
                PublishingProcess.class,
                database.host(),
                String.valueOf(database.port()),
                database.name(),
                database.user(),
                mode.name())) {
      stage.other();
      publisher.awaitLine("published", BOUND);
      publisher.kill9();
      await("the end of its session")
          .atMost(BOUND)
          .until(() -> database.backends().running("pgonce.publish_all").isEmpty());
      stage.publish(2);
      stage.awaitOutside(2);
      stage.awaitEnd();
      stage.assertEffects(0, 0);
      stage.assertListed();
    }
  }

  @ParameterizedTest(name = "{0}")
  @EnumSource(Mode.class)
  @Tag("all")
  void h49_aServerThatIsKilledAfterThePublishingKeepsWhatIsStored(Mode mode) throws Exception {
    try (var database = mortal().createDatabase();
        var stage = new CrashStage(database, mode)) {
      stage.publish(1);
      mortal().killPostmaster();
      mortal().restart();
      stage.forgetConnections();
      expectOnceOrLost(stage);
    }
  }

  @ParameterizedTest(name = "{0}")
  @EnumSource(Mode.class)
  void h49_whatIsStoredWhileNobodyIsUpWaits(Mode mode, TestDatabase database) throws Exception {
    try (var stage = new CrashStage(database, mode)) {
      stage.publish(1);
      expectOnceOrLost(stage);
    }
  }

  /** No wake-up tells of it any more: polling finds it, where it is stored. */
  private static void expectOnceOrLost(CrashStage stage) throws Exception {
    if (stage.mode() == Mode.BROADCAST) {
      stage.assertStored(0);
      stage.other();
      stage.publish(2);
      stage.awaitOutside(2);
      stage.assertEffects(0, 0);
    } else {
      stage.assertStored(1);
      assertThat(stage.polling().status().listensBy()).isEqualTo("polling");
      stage.awaitEnd();
      stage.assertEffects(1, 1);
    }
    stage.assertListed();
  }
}
