package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** What an operator reads when pgonce keeps a service from starting. */
@PgTest
@Tag("second")
@ExtendWith(OutputCaptureExtension.class)
class StartFailureTest {

  @Test
  void failureIsDescribedWithWhatToDo(TestDatabase database, CapturedOutput output) {
    assertThatThrownBy(
        () -> Service.start(database, LifecycleTest.Nothing.class, "pgonce.install=validate"));
    assertThat(output)
        .contains("APPLICATION FAILED TO START")
        .contains("pgonce cannot start: ")
        .contains("schema pgonce")
        .contains("a migration that Triggers.migration prints")
        .contains("pgonce.start-failure=retry");
  }

  /** No stack trace: what is wrong is in the service's code. */
  @Test
  void misspeltChannelIsDescribedWithWhatIsNear(TestDatabase database, CapturedOutput output) {
    assertThatThrownBy(() -> Service.start(database, Misspelt.class));
    assertThat(output)
        .contains("APPLICATION FAILED TO START")
        .contains("Misspelt.handle names channel jib, but no channel bean has that name")
        .contains("Did you mean job?")
        .doesNotContain("Application run failed");
  }

  static class Misspelt {
    @PgOnceListener(channel = "jib")
    void handle(Job job) {}
  }

  /** What refuses it is a bean that others depend on. */
  @Test
  void dataSourceThatIsNoneIsDescribed(TestDatabase database, CapturedOutput output) {
    assertThatThrownBy(
        () -> Service.start(database, LifecycleTest.Nothing.class, "pgonce.data-source=other"));
    assertThat(output)
        .contains("APPLICATION FAILED TO START")
        .contains("pgonce cannot start: pgonce.data-source = other is no DataSource bean")
        .doesNotContain("Application run failed");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "pgonce.poll-interval=0s",
        "pgonce.instance=",
        "pgonce.stop-timeout=-1s",
        "pgonce.start-timeout=2h"
      })
  void propertyThatIsOutOfBoundsIsNamed(
      String setting, TestDatabase database, CapturedOutput output) {
    assertThatThrownBy(() -> Service.start(database, LifecycleTest.Nothing.class, setting));
    assertThat(output)
        .contains("APPLICATION FAILED TO START")
        .contains("pgonce cannot start: " + setting.substring(0, setting.indexOf('=')) + ": ")
        .doesNotContain("Application run failed");
  }
}
