package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Notification;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;

/** A repository's writes take effect once, whatever becomes of the attempts. */
@PgTest
class ThousandTest {

  private static final String DONE = "SELECT count(*) FROM effect";

  @Test
  void s1_eachOfAThousandFailsOnceBehindItsSave(TestDatabase database) throws Exception {
    try (var service = Service.start(database, FailsOnce.class)) {
      service.publish(1, 1_000);
      service.awaitQuiet();
      assertEachOnce(database);
    }
  }

  @Test
  @Tag("all")
  void s1_servicesAreKilledAmidAThousandThatEachFailOnce(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Nothing.class)) {
      service.publish(1, 1_000);
    }
    for (var done = 300; done <= 600; done += 300) {
      try (var killed = startedProcess(database)) {
        awaitDone(database, done);
        killed.kill9();
      }
    }
    try (var last = startedProcess(database)) {
      awaitDone(database, 1_000);
      Service.awaitQuiet(database);
      last.sigterm();
      last.awaitExit(Service.BOUND);
    }
    assertEachOnce(database);
  }

  private static JvmProcess startedProcess(TestDatabase database) throws InterruptedException {
    var process = JvmProcess.start(Main.class, ContractApplication.properties(database));
    process.awaitLine(": Started ", Service.BOUND.multipliedBy(2));
    return process;
  }

  private static void awaitDone(TestDatabase database, int rows) {
    await()
        .atMost(Service.BOUND.multipliedBy(2))
        .untilAsserted(() -> assertThat(database.queryLong(DONE)).isGreaterThanOrEqualTo(rows));
  }

  private static void assertEachOnce(TestDatabase database) throws Exception {
    assertThat(database.queryLong(DONE)).isEqualTo(1_000);
    assertThat(database.queryLong("SELECT count(DISTINCT number) FROM effect")).isEqualTo(1_000);
    assertThat(database.queryLong("SELECT count(*) FROM pgonce.dead_letter")).isZero();
  }

  static class Nothing {}

  static class FailsOnce {

    @Autowired Effects effects;

    @PgOnceListener(channel = "job")
    void handle(Job job, Notification<Job> notification) {
      effects.saveAndFlush(new Effect(job.number(), "saved"));
      if (notification.attempt() == 1) {
        throw new IllegalStateException("behind its save");
      }
    }
  }

  /** A service as a process. */
  static final class Main {

    private Main() {}

    public static void main(String[] properties) {
      ParentWatch.exitWhenParentDies();
      var unused =
          new SpringApplicationBuilder(ContractApplication.class, FailsOnce.class)
              .properties(properties)
              .web(WebApplicationType.NONE)
              .run();
    }
  }
}
