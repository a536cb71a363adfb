package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
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
        .contains("pgonce.start-failure=retry");
  }
}
