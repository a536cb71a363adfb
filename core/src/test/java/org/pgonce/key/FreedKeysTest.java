package org.pgonce.key;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.Mode;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;

/**
 * H56: one of 20,000 keys that wait is set free, and several processes share what is free. A class
 * of its own: on PostgreSQL 14 it would be the last that runs, and run alone, were it one with
 * {@link BlockedKeysTest}.
 */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class FreedKeysTest extends BlockedKeysScene {

  @ParameterizedTest
  @CsvSource({
    "DEAD, EXACTLY_ONCE, discard",
    "LATER, AT_LEAST_ONCE, cancel",
    "LEASED, AT_LEAST_ONCE, due"
  })
  @Tag("all")
  void h56_aKeyThatIsSetFreeFlowsAtOnce(Why why, Mode mode, String how) throws Exception {
    aKeyThatIsSetFreeFlowsAtOnce(why, mode, how);
  }

  @Tag("all")
  @ParameterizedTest
  @CsvSource({"DEAD, AT_LEAST_ONCE, redrive", "LATER, EXACTLY_ONCE, due"})
  void h56_soItDoesWhereItIsRedrivenOrDue(Why why, Mode mode, String how) throws Exception {
    aKeyThatIsSetFreeFlowsAtOnce(why, mode, how);
  }

  private void aKeyThatIsSetFreeFlowsAtOnce(Why why, Mode mode, String how) throws Exception {
    block(why, mode);
    var process = listen();
    awaitSettled(process);
    assertThat(ended).isEmpty();
    var begun = System.nanoTime();
    switch (how) {
      case "discard" -> stage.onCall().discard(steps, List.of(7_000L));
      case "redrive" -> stage.onCall().redrive(steps, List.of(7_000L));
      case "cancel" -> stage.onCall().cancel(steps, List.of(7_000L), "not wanted");
      default ->
          stage.database.execute(
              """
              update pgonce.scheduled set due_at = clock_timestamp(), key_permit_until = clock_timestamp() where subscription_id > 0 and id = 7000;
              select pgonce.wake_up('steps', 'later')
              """);
    }
    var left = how.equals("discard") || how.equals("cancel") ? 2 : 3;
    stage.awaitSoon(() -> ended.size() == left);
    var took = Duration.ofNanos(System.nanoTime() - begun);
    System.out.printf("%s %s: free after %d ms%n", why, how, took.toMillis());
    // Half a minute without the walk that a key set free brings, 4 to 7 s with it beside others.
    assertThat(took).isLessThan(Duration.ofSeconds(20));
    if (why != Why.LEASED) {
      assertThat(ended).extracting(Order::id).isSorted();
    }
  }

  @Tag("all")
  @ParameterizedTest
  @CsvSource({"DEAD, EXACTLY_ONCE", "LATER, AT_LEAST_ONCE", "LEASED, AT_LEAST_ONCE"})
  void h56_severalProcessesStayIdleAndShareWhatIsFree(Why why, Mode mode) throws Exception {
    block(why, mode);
    var processes = List.of(listen(), listen(), listen());
    for (var process : processes) {
      awaitSettled(process);
    }
    var before = tuplesRead();
    awaitTenPolls(processes.get(0));
    var idle = tuplesRead() - before;
    System.out.println(describe(why + " " + mode + " 3 processes idle, 10 polls", idle));
    assertThat(idle).as("10 polls").isLessThan(15L * KEYS);
    publish("", 1, 500);
    stage.awaitSoon(() -> ended.size() == 500);
    // Of keys that wait: nobody handles them, and nobody walks for them.
    before = tuplesRead();
    for (var id = 1; id <= 100; id++) {
      publish("k" + id, id, id);
    }
    publish("", 501, 501);
    stage.awaitSoon(() -> ended.size() == 501);
    awaitTenPolls(processes.get(0));
    assertThat(tuplesRead() - before).as("wake-ups in vain").isLessThan(15L * KEYS);
    assertThat(ended).hasSize(501).doesNotHaveDuplicates();
  }

  /** Its lock is gone with its session, and nobody tells the others. */
  @ParameterizedTest
  @CsvSource({"DEAD", "LATER"})
  @Tag("all")
  void h56_whatASessionHeldThatDiedIsClaimedWithTheNextScan(Why why) throws Exception {
    block(why, Mode.EXACTLY_ONCE);
    publish("held", 1, 3);
    try (var dies = stage.database.dataSource().getConnection()) {
      dies.setAutoCommit(false);
      try (var claim = dies.createStatement()) {
        claim.execute(
            "select n.id from pgonce.subscription s, pgonce.claim_by_key(s.id, false, true, null, '{keys}', '{held}', 0, 0, null) n where s.of_channel = 'steps'");
      }
      var process = listen();
      awaitSettled(process);
      assertThat(ended).isEmpty();
      dies.rollback();
    }
    var begun = System.nanoTime();
    stage.awaitSoon(() -> ended.size() == 3);
    System.out.printf(
        "%s: of who died after %d ms%n", why, (System.nanoTime() - begun) / 1_000_000);
    assertThat(ended).extracting(Order::id).isSorted();
  }
}
