package org.pgonce.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pgonce.Channel;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A recording of a handler that fails once. */
@PgTest(PgOnceInstalled.class)
class FlightRecorderTest {

  private static final Channel<String> MAILS = Channel.of("mails", String.class);

  @Test
  void example_aRecordingHasEachRunAndEachClaim(TestDatabase database, @TempDir Path folder)
      throws Exception {
    var handled = new CountDownLatch(1);
    var recorder = new FlightRecorder();
    var file = folder.resolve("pgonce.jfr");
    try (var recording = new Recording();
        var stage = new Stage(database)) {
      recording.enable("org.pgonce.HandlerRun").withoutThreshold();
      recording.enable("org.pgonce.Claim");
      recording.start();
      var pgonce = stage.open(stage.builder().interceptors(recorder).observer(recorder).build());
      pgonce.install(MAILS);
      pgonce.listen(
          MAILS,
          Stage.QUICK,
          (mail, tx) -> {
            if (mail.attempt() == 1) {
              throw new IllegalStateException("not yet");
            }
            handled.countDown();
          });
      pgonce.start();
      try (var connection = stage.dataSource.getConnection()) {
        pgonce.publisher().publish(connection, MAILS, "hello");
      }
      stage.awaitSoon(() -> handled.getCount() == 0);
      pgonce.close(); // behind the end of the handler's run
      recording.stop();
      recording.dump(file);
    }
    var runs = events(file, "org.pgonce.HandlerRun");
    assertThat(runs).extracting(run -> run.getInt("attempt")).containsExactly(1, 2);
    assertThat(runs.get(0).getString("failure")).isEqualTo("java.lang.IllegalStateException");
    assertThat(runs.get(1).getString("failure")).isNull();
    assertThat(runs.get(1).getString("channel")).isEqualTo("mails");
    assertThat(runs.get(1).getDuration()).isPositive();
    var claims = events(file, "org.pgonce.Claim");
    assertThat(claims).extracting(claim -> claim.getInt("attempt")).containsExactly(1, 2);
    assertThat(claims.get(0).getDuration("lag")).isPositive();
  }

  private static List<RecordedEvent> events(Path file, String name) throws Exception {
    return RecordingFile.readAllEvents(file).stream()
        .filter(event -> event.getEventType().getName().equals(name))
        .sorted(Comparator.comparing(event -> event.getInt("attempt"))) // a file has no order
        .toList();
  }
}
