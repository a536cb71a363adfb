package org.pgonce.internal.settle;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.ListenOptions;
import org.pgonce.Status.Paused;
import org.pgonce.internal.handle.Registration;
import org.pgonce.spi.Observer;

/** What is heard, what handlers ask for and what scans tell, in orders that hardly ever occur. */
class PausingTest {

  private static final Paused PAUSED = new Paused(Instant.EPOCH, "Anna", "for a test");

  private long polls;
  private final Pausing pausing =
      new Pausing(
          new Registration<>(
              Channel.of("orders", String.class),
              ChannelOptions.DEFAULT_SUBSCRIPTION,
              (order, tx) -> {},
              ListenOptions.DEFAULT),
          "here",
          Observer.NONE,
          () -> polls);

  @Test
  void h86_nothingIsClaimedBeforeTheFirstScanHasTold() {
    assertThat(pausing.isOn()).isTrue();
    assertThat(pausing.polled(null, 1)).isTrue();
    assertThat(pausing.isOn()).isFalse();
  }

  @Test
  void ops_aScanThatBeganBeforeAPauseWasHeardDoesNotLiftIt() {
    pausing.polled(null, 1);
    polls = 2;
    assertThat(pausing.heardPause()).isZero();
    assertThat(pausing.polled(null, 2)).isFalse();
    assertThat(pausing.isOn()).isTrue();
    assertThat(pausing.polled(PAUSED, 3)).isFalse();
    assertThat(pausing.known()).isEqualTo(PAUSED);
    assertThat(pausing.polled(null, 4)).isTrue();
    assertThat(pausing.isOn()).isFalse();
  }

  @Test
  void s15_aScanThatBeganBeforeAHandlersPauseWasCommittedDoesNotLiftIt() {
    pausing.polled(null, 1);
    pausing.begins();
    assertThat(pausing.polled(null, 2)).isFalse();
    pausing.begins();
    polls = 3;
    pausing.ends();
    assertThat(pausing.polled(null, 4)).isFalse();
    polls = 4;
    pausing.ends();
    assertThat(pausing.polled(null, 4)).isFalse();
    assertThat(pausing.isOn()).isTrue();
    // Neither could be recorded.
    assertThat(pausing.polled(null, 5)).isTrue();
    assertThat(pausing.isOn()).isFalse();
  }

  @Test
  void h39_afterAForgedPauseTheNextIsNotBelievedButLookedInto() {
    pausing.polled(null, 1);
    polls = 1;
    pausing.heardPause();
    assertThat(pausing.polled(null, 2)).isTrue();
    polls = 2;
    assertThat(pausing.heardPause()).isEqualTo(Duration.ofMillis(100));
    assertThat(pausing.isOn()).isFalse();
    assertThat(pausing.polled(PAUSED, 3)).isFalse();
    assertThat(pausing.isOn()).isTrue();
  }
}
