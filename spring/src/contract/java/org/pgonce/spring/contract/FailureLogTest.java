package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** What the log has of a listener that fails. */
@PgTest
@Tag("second")
@ExtendWith(OutputCaptureExtension.class)
class FailureLogTest {

  private static final String CALL = "at " + FailureLogTest.class.getName() + "$Failing.handle(";

  @Test
  void h35_stackTraceComesOnceForAnAttemptAndTheDeadLetter(
      TestDatabase database, CapturedOutput output) throws Exception {
    try (var service = Service.start(database, Failing.class)) {
      service.publish(1, 1);
      await()
          .atMost(Service.BOUND)
          .untilAsserted(() -> assertThat(output).contains("is a dead letter after attempt 3"));
    }
    assertThat(output.getOut().lines().filter(line -> line.contains(CALL))).hasSize(2);
    assertThat(output)
        .contains("attempt 1 of 3 of notification", "Order 5 is not paid")
        .contains("FailureTrace: java.lang.IllegalStateException")
        .containsPattern("Caused by: .*FailureTrace: java.lang.IllegalArgumentException")
        .doesNotContain("ann@example.org");
  }

  static class Failing {

    @PgOnceListener(channel = "job", maxAttempts = "3", backoffFirst = "10ms")
    void handle(Job job) {
      throw new IllegalStateException(
          "Order 5 is not paid", new IllegalArgumentException("ann@example.org"));
    }
  }
}
