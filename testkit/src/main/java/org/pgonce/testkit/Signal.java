package org.pgonce.testkit;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** A POSIX signal, sent to one process. */
enum Signal {
  INT,
  QUIT,
  KILL,
  TERM,
  STOP,
  CONT;

  private static final int BOUND_S = 10;

  /** Returns false if there is no such process, or it belongs to somebody else. */
  boolean send(long pid) {
    if (pid <= 1) {
      throw new IllegalArgumentException(
          "No signal goes to process " + pid + ": 0 and below are groups, 1 is init");
    }
    try {
      // The shell's own kill: a minimal system has no program of that name.
      var kill =
          new ProcessBuilder("/bin/sh", "-c", "kill -" + name() + " " + pid)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      if (!kill.waitFor(BOUND_S, TimeUnit.SECONDS)) {
        kill.destroyForcibly();
        throw new IllegalStateException(
            "Sending SIG%s to process %d took over %d s".formatted(name(), pid, BOUND_S));
      }
      return kill.exitValue() == 0;
    } catch (IOException e) {
      throw new IllegalStateException(
          "Cannot send SIG%s to process %d: /bin/sh does not start".formatted(name(), pid), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(
          "Interrupted while sending SIG%s to process %d".formatted(name(), pid), e);
    }
  }
}
