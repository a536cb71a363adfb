package org.pgonce.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Optional;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class JvmProcessTest {

  private static final Duration BOUND = Duration.ofSeconds(20);

  /** Greets, and stays until it is killed or its parent is gone. */
  static final class Sleeper {
    public static void main(String[] args) throws InterruptedException {
      ParentWatch.exitWhenParentDies();
      Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("terminated")));
      System.out.printf("%s %s%n", System.getProperty("greeting"), String.join(" ", args));
      Thread.currentThread().join();
    }
  }

  /** Prints more lines than are kept. */
  static final class Chatterbox {
    public static void main(String[] args) {
      IntStream.range(0, 50_000).forEach(System.out::println);
      System.out.println("done");
    }
  }

  /** Starts a sleeper and says its pid. */
  static final class Parent {
    public static void main(String[] args) throws InterruptedException {
      ParentWatch.exitWhenParentDies();
      try (var child = JvmProcess.start(Sleeper.class)) {
        child.awaitLine("null", BOUND);
        System.out.println("child " + child.pid());
        Thread.currentThread().join();
      }
    }
  }

  private static JvmProcess sleeper() {
    return JvmProcess.of(Sleeper.class)
        .property("greeting", "hello")
        .arguments("to", "you")
        .start();
  }

  @Test
  void argumentsAndPropertiesArriveAndLinesComeBack() throws Exception {
    try (var child = sleeper()) {
      assertThat(child.awaitLine("hello", BOUND)).isEqualTo("hello to you");
    }
  }

  @Test
  void kill9RunsNoShutdownHook() throws Exception {
    try (var child = sleeper()) {
      child.awaitLine("hello", BOUND);
      child.kill9();
      assertThat(child.awaitExit(BOUND)).isEqualTo(128 + 9);
      assertThat(child.lines()).doesNotContain("terminated");
    }
  }

  @Test
  void sigtermRunsShutdownHooksOnceAStoppedProcessGoesOn() throws Exception {
    try (var child = sleeper()) {
      child.awaitLine("hello", BOUND);
      child.sigstop();
      child.sigterm();
      assertThatThrownBy(() -> child.awaitExit(Duration.ofMillis(300)))
          .isInstanceOf(AssertionError.class);
      child.sigcont();
      assertThat(child.awaitExit(BOUND)).isEqualTo(128 + 15);
      assertThat(child.lines()).contains("terminated");
    }
  }

  @Test
  void aLineThatNeverComesFailsWithWhatWasPrinted() throws Exception {
    try (var child = sleeper()) {
      child.awaitLine("hello", BOUND);
      assertThatThrownBy(() -> child.awaitLine("goodbye", Duration.ofMillis(100)))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("hello to you");
    }
  }

  @Test
  void ofMuchOutputTheEndIsKept() throws Exception {
    try (var child = JvmProcess.start(Chatterbox.class)) {
      child.awaitLine("done", BOUND);
      assertThat(child.awaitExit(BOUND)).isZero();
      assertThat(child.lines()).hasSizeBetween(10_000, 20_000).endsWith("49999", "done");
    }
  }

  @Test
  void aChildDiesWithAKilledParent() throws Exception {
    try (var parent = JvmProcess.start(Parent.class)) {
      var pid = Long.parseLong(parent.awaitLine("child ", BOUND).substring("child ".length()));
      var child = ProcessHandle.of(pid);
      assertThat(child.map(ProcessHandle::isAlive)).isEqualTo(Optional.of(true));
      parent.kill9();
      Awaitility.await().atMost(BOUND).until(() -> Postmaster.isGone(pid));
    }
  }
}
