package org.pgonce.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnceException;
import org.pgonce.PublishOptions;
import org.pgonce.RejectedException;

@PgOnceTest
@Tag("versions")
class DrainTest {

  private static final Channel<Integer> ONE = Channel.of("one", Integer.class);

  private final List<Integer> handled = new ArrayList<>();
  private final Handler<Integer> note = (one, tx) -> handled.add(one.payload());

  @BeforeEach
  void install(PgOnceTester pgonce) {
    pgonce.install(ONE);
  }

  private static PublishOptions in(int hours) {
    return PublishOptions.DEFAULT.withDelay(Duration.ofHours(hours));
  }

  @Test
  void api_runsOnThisThreadInOrder(PgOnceTester pgonce) {
    pgonce.publishAll(ONE, List.of(1, 2, 3));
    var threads = new ArrayList<Thread>();
    var count =
        pgonce.drain(
            ONE,
            (one, tx) -> {
              threads.add(Thread.currentThread());
              handled.add(one.payload());
              if (one.payload() == 1) {
                tx.publish(ONE, 4);
              }
            });
    assertThat(count).isEqualTo(4);
    assertThat(handled).containsExactly(1, 2, 3, 4);
    assertThat(threads).containsOnly(Thread.currentThread());
    assertThat(pgonce.drain(ONE, note)).isZero();
  }

  @Test
  void api_runsTheHandlersThatItWasGivenBefore(PgOnceTester pgonce) {
    var two =
        Channel.of(
            "two",
            Integer.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withSubscriptions("mail", "print"));
    pgonce.install(two).publishAll(two, List.of(1, 2));
    pgonce.listen(two, "print", ListenOptions.DEFAULT, (one, tx) -> handled.add(-one.payload()));
    assertThatThrownBy(() -> pgonce.listen(two, note))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("channel two has the subscriptions [mail, print]: say which");
    pgonce.listen(two, "mail", ListenOptions.DEFAULT, (one, tx) -> handled.add(100));
    pgonce.listen(two, "mail", ListenOptions.DEFAULT, note); // in its place
    assertThat(pgonce.drain(two)).isEqualTo(4);
    assertThat(handled).containsExactly(1, 2, -1, -2);
    assertThatThrownBy(() -> pgonce.chaos(two))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("channel two has the subscriptions [mail, print]: say which");
  }

  /** As between the tests of a database that they share. */
  @Test
  void api_clearsAllThatIsStored(PgOnceTester pgonce) {
    var kept =
        Channel.of(
            "kept",
            Integer.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT
                .withKeyMemory(Duration.ofDays(1))
                .withHistory(Duration.ofDays(1)));
    var keyed = PublishOptions.DEFAULT.withDeliveryKey("key");
    pgonce.install(kept).publish(kept, 1, keyed);
    pgonce.drain(kept, note);
    pgonce.publish(ONE, -1);
    Handler<Integer> strict =
        (one, tx) -> {
          throw new RejectedException("not this one");
        };
    assertThatThrownBy(() -> pgonce.drain(ONE, strict)).hasMessage("not this one");
    pgonce.publish(ONE, 2);
    pgonce.publish(ONE, 3, in(1));

    assertThat(pgonce.clear()).isEmpty();
    assertThat(pgonce.count("select count(*) from pgonce.history")).isZero();
    assertThat(pgonce.publish(kept, 1, keyed).stored()).isTrue();
    assertThat(pgonce.advance(Duration.ofHours(2)).drain(ONE, note)).isZero();
    assertThat(pgonce.drain(kept, note)).isEqualTo(1);
  }

  @Test
  void api_saysWhoseHandlersItKnows(PgOnceTester pgonce) {
    assertThatThrownBy(() -> pgonce.drain(ONE))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("no handler of channel one: ")
        .hasMessageEndingWith("those of no channel");
    pgonce.listen(ONE, note);
    assertThatThrownBy(() -> pgonce.chaos(Channel.of("other", Integer.class)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageEndingWith("those of one");
  }

  @Test
  void api_aPayloadThatCannotBeReadIsNotTakenForAHandlerThatReturned(PgOnceTester pgonce) {
    pgonce.execute("select pgonce.publish('one', '\"text\"')");
    assertThatThrownBy(() -> pgonce.drain(ONE, note))
        .isInstanceOf(PgOnceException.class)
        .hasMessageStartingWith("the handler of channel one did not run: ");
    assertThat(pgonce).hasDeadLetter(ONE);
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void api_runsTheOtherModes(Mode mode, PgOnceTester pgonce) {
    pgonce.execute("create table seen (one int)");
    var channel = Channel.of("leased", Integer.class, mode);
    pgonce.install(channel);
    pgonce.publishAll(channel, List.of(1, 2));
    assertThat(
            pgonce.drain(
                channel, (one, tx) -> tx.update("insert into seen values (?)", one.payload())))
        .isEqualTo(2);
    assertThat(pgonce.count("select sum(one) from seen")).isEqualTo(3);
    assertThat(pgonce).isEmpty();
  }

  @Test
  void api_handlesInTheOrderOfDueTimes(PgOnceTester pgonce) {
    pgonce.publish(ONE, 3, in(3));
    pgonce.publish(ONE, 1, in(1));
    pgonce.publish(ONE, 0);
    pgonce.drain(ONE, note);
    assertThat(handled).containsExactly(0);
    pgonce.advance(Duration.ofHours(2));
    pgonce.publish(ONE, 2);
    pgonce.drain(ONE, note);
    assertThat(handled).containsExactly(0, 1, 2);
    pgonce.advance(Duration.ofHours(1));
    pgonce.drain(ONE, note);
    assertThat(handled).containsExactly(0, 1, 2, 3);
  }

  @Test
  void api_rethrowsWhatTheHandlerThrowsAndRecordsTheAttempt(PgOnceTester pgonce) {
    pgonce.execute("create table seen (one int)");
    pgonce.publishAll(ONE, List.of(1, 2));
    var thrown = new IOException("mail server is down");
    // Longer than this test takes on a busy machine.
    var backoff = new Backoff(Duration.ofMinutes(1), Duration.ofMinutes(1));
    assertThatThrownBy(
            () ->
                pgonce.drain(
                    ONE,
                    "default",
                    ListenOptions.DEFAULT.withBackoff(backoff),
                    (one, tx) -> {
                      tx.update("insert into seen values (?)", one.payload());
                      throw thrown;
                    }))
        .isSameAs(thrown);
    assertThat(pgonce.count("select count(*) from seen")).isZero();
    assertThat(pgonce.count("select attempts from pgonce.retry_status")).isEqualTo(1);
    pgonce.drain(ONE, note); // the first waits for its backoff
    assertThat(handled).containsExactly(2);
    pgonce.advance(Duration.ofMinutes(2));
    pgonce.drain(ONE, note);
    assertThat(handled).containsExactly(2, 1);
    assertThat(pgonce).isEmpty();
  }

  @Test
  void api_saysWhatFailedThoughTheHandlerReturned(PgOnceTester pgonce) {
    pgonce.publish(ONE, 1);
    assertThatThrownBy(
            () ->
                pgonce.drain(
                    ONE,
                    (one, tx) -> {
                      try {
                        tx.update("insert into no_such_table values (1)");
                      } catch (SQLException swallowed) {
                        // as a careless handler does
                      }
                    }))
        .isInstanceOf(PgOnceException.class)
        .hasMessageStartingWith("the handler of channel one returned, and yet failed: ")
        .hasMessageContaining("caught an SQLException and went on");
  }

  @Test
  void api_aHandlerThatFeedsItselfMeetsTheBound(PgOnceTester pgonce) {
    pgonce.publish(ONE, 1);
    Handler<Integer> endless = (one, tx) -> tx.publish(ONE, one.payload() + 1);
    pgonce.bounds(5, Duration.ofMinutes(1));
    assertThatThrownBy(() -> pgonce.drain(ONE, endless))
        .isInstanceOf(AssertionError.class)
        .hasMessage(
            "drain(one) has handled 5 notifications, and more are due; its bounds are 5 and PT1M. Does the handler publish to its own channel? Else raise them: PgOnceTester.bounds");
    pgonce.bounds(1000, Duration.ofNanos(1));
    assertThatThrownBy(() -> pgonce.drain(ONE, endless)).isInstanceOf(AssertionError.class);
  }

  @Test
  void api_asManyAsTheBoundAreNoError(PgOnceTester pgonce) {
    pgonce.publishAll(ONE, List.of(1, 2));
    assertThat(pgonce.bounds(2, Duration.ofMinutes(1)).drain(ONE, note)).isEqualTo(2);
  }

  @Test
  void api_handlesOneSubscriptionWithOptions(PgOnceTester pgonce) {
    var two =
        Channel.of(
            "two",
            Integer.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withSubscriptions("mail", "audit"));
    pgonce.install(two);
    pgonce.publishAll(two, List.of(1, 2, 3));
    assertThat(pgonce).hasPublished(two).times(3);
    assertThatThrownBy(() -> pgonce.drain(two, note))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("say which");
    var lists = new ArrayList<Integer>();
    var count =
        pgonce.drain(
            two,
            "mail",
            ListenOptions.DEFAULT.withBatch(2),
            Handler.batch((several, tx) -> lists.add(several.size())));
    assertThat(count).isEqualTo(3);
    assertThat(lists).containsExactly(2, 1);
    assertThat(pgonce).hasPublished(two).times(3); // for the other one
    assertThat(pgonce.drain(two, "audit", ListenOptions.DEFAULT, note)).isEqualTo(3);
    assertThat(pgonce).isEmpty();
  }

  /** Each of a batch that fails is handled alone. */
  @Test
  void api_rethrowsWhatOneOfABatchThrows(PgOnceTester pgonce) {
    pgonce.publishAll(ONE, List.of(1, 2, 3));
    Handler<Integer> bad =
        (one, tx) -> {
          if (one.payload() == 1) {
            throw new IOException("not the first");
          }
          note.handle(one, tx);
        };
    assertThatThrownBy(() -> pgonce.drain(ONE, "default", ListenOptions.DEFAULT.withBatch(3), bad))
        .isInstanceOf(IOException.class)
        .hasMessage("not the first");
    assertThat(handled).containsExactly(2, 3);
    assertThat(pgonce).hasPublished(ONE).withPayload(1).once();
  }

  @Test
  void api_aHandlerThatOverrunsIsCutOff(PgOnceTester pgonce) {
    pgonce.publish(ONE, 1);
    // Its time begins with the claim: on a busy machine it must not be over before the sleep.
    var options = ListenOptions.DEFAULT.withHandlerTimeout(Duration.ofSeconds(1));
    assertThatThrownBy(
            () -> pgonce.drain(ONE, "default", options, (one, tx) -> Thread.sleep(60_000)))
        .isInstanceOf(InterruptedException.class)
        .hasSuppressedException(
            new PgOnceException(
                "pgonce has recorded: java.util.concurrent.TimeoutException: the handler did not return within 1000 ms"));
    assertThat(Thread.interrupted()).isFalse();
    assertThat(pgonce.count("select count(*) from pgonce.retry_status")).isEqualTo(1);
  }

  @Test
  void api_saysWhyItCannotDrain(PgOnceTester pgonce) {
    var missing = Channel.of("missing", Integer.class);
    assertThatThrownBy(() -> pgonce.drain(missing, note))
        .isInstanceOf(PgOnceException.class)
        .hasMessage(
            "channel missing is not installed: call PgOnce.install (Spring Boot: pgonce.install=always), or run its printed migration");
    var broadcast = Channel.of("broadcast", Integer.class, Mode.BROADCAST);
    assertThatThrownBy(() -> pgonce.drain(broadcast, note))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "channel broadcast is a BROADCAST, which stores nothing that could be handled later: call its handler");
    pgonce.execute("select pgonce.pause('one', 'a bug')");
    assertThatThrownBy(() -> pgonce.drain(ONE, note))
        .isInstanceOf(PgOnceException.class)
        .hasMessageMatching(
            "channel one is paused by .*: a bug: nothing of it is handled until it is resumed");
  }

  @Test
  void api_whatItCannotDoIsRefused(PgOnceTester pgonce) {
    assertThatThrownBy(() -> pgonce.advance(Duration.ofHours(-1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("advance(PT-1H): time goes forward");
    assertThatThrownBy(() -> pgonce.bounds(0, Duration.ofHours(1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("bounds of 0 notifications and PT1H: give at least one, and some time");
    assertThatThrownBy(() -> pgonce.execute("selekt 1"))
        .isInstanceOf(PgOnceException.class)
        .hasMessageStartingWith("cannot run «selekt 1»: ");
    assertThatThrownBy(() -> pgonce.publish(Channel.of("missing", Integer.class), 1))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("is not installed");
  }

  @Test
  void api_advanceEndsTheMemoryOfKeys(PgOnceTester pgonce) {
    var remembers =
        Channel.of(
            "remembers",
            Integer.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withKeyMemory(Duration.ofDays(7)));
    pgonce.install(remembers);
    var key = PublishOptions.DEFAULT.withDeliveryKey("a");
    assertThat(pgonce.publish(remembers, 1, key).stored()).isTrue();
    pgonce.drain(remembers, note);
    pgonce.advance(Duration.ofDays(6));
    assertThat(pgonce.publish(remembers, 1, key).stored()).isFalse();
    pgonce.advance(Duration.ofDays(2));
    assertThat(pgonce.publish(remembers, 1, key).stored()).isTrue();
  }

  /** A key that ended so has no time yet: housekeeping would begin it. */
  @Test
  void api_advanceEndsTheMemoryOfKeysThatWereCancelled(PgOnceTester pgonce) {
    var remembers =
        Channel.of(
            "remembers",
            Integer.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withKeyMemory(Duration.ofHours(1)));
    pgonce.install(remembers);
    var key = PublishOptions.DEFAULT.withDeliveryKey("a");
    assertThat(pgonce.publish(remembers, 1, key).stored()).isTrue();
    pgonce.execute("select pgonce.cancel('remembers', null, array['a'], 'paid')");
    assertThat(pgonce).isEmpty();
    pgonce.advance(Duration.ofMinutes(30));
    assertThat(pgonce.publish(remembers, 1, key).stored()).isFalse();
    pgonce.advance(Duration.ofHours(2));
    assertThat(pgonce.publish(remembers, 1, key).stored()).isTrue();
  }
}
