package org.pgonce.internal.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Collections;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class FailureTraceTest {

  @Test
  void h35_callsAreShownAndNoMessages() {
    var cause = new IllegalArgumentException("Key (email)=(ann@example.org) already exists");
    var text = text(new IllegalStateException("of ann@example.org", cause));

    assertThat(text)
        .contains(": java.lang.IllegalStateException\n\tat " + FailureTraceTest.class.getName())
        .containsPattern("Caused by: .*: java.lang.IllegalArgumentException\n")
        .doesNotContain("ann@example.org");
  }

  @Test
  void h45_noExceptionIsTooOdd() {
    var circle = new Exception("first");
    circle.initCause(new Exception("second", circle));
    assertThat(text(circle)).contains("Caused by: ").hasSizeLessThan(100_000);

    var hostile =
        new Exception() {
          @Override
          public synchronized Throwable getCause() {
            throw new StackOverflowError();
          }
        };
    assertThat(FailureTrace.of(hostile)).isNull();

    var deep = new StackOverflowError();
    var call = new StackTraceElement("Handler", "handle", "Handler.java", 1);
    deep.setStackTrace(Collections.nCopies(1_024, call).toArray(StackTraceElement[]::new));
    assertThat(text(deep).lines()).hasSize(101);
  }

  private static String text(Throwable failure) {
    var text = new StringWriter();
    Objects.requireNonNull(FailureTrace.of(failure)).printStackTrace(new PrintWriter(text, true));
    return text.toString();
  }
}
