package org.pgonce.test;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimCursors;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.consume.ClaimLoop;
import org.pgonce.internal.consume.Worker;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.handle.WorkerSlots;
import org.pgonce.internal.settle.Pausing;
import org.pgonce.internal.settle.Reports;

/**
 * Claims, handles and settles on the caller's thread what it is told to, in the way of the mode. It
 * knows no wake-ups, rate, pause or poll. For one thread.
 */
final class CallerWorker implements Worker {

  private final Registration<?> subscribed;
  private final ListenerContext context;
  private final Reports reports;
  private final Pausing pausing;
  private final WorkerSlots slots;
  private WorkerSlots.@Nullable Slot slot;
  private boolean isDue;
  private int found;

  /**
   * @param subscribed with what is installed of it
   * @param context stays the caller's, who closes its threads
   */
  CallerWorker(Registration<?> subscribed, ListenerContext context) {
    this.subscribed = subscribed;
    this.context = context;
    this.reports = new Reports(subscribed, context.observer(), delay -> {});
    this.pausing = new Pausing(subscribed, context.instance(), context.observer(), () -> 0);
    this.slots = new WorkerSlots(subscribed, context.threads(), () -> {});
  }

  /**
   * Claims the first notification, or batch, that nobody holds, and returns when it is settled, or
   * when its handler was cut off and has returned.
   *
   * @param due whether it looks among the scheduled rows that are due, or among the new ones
   * @return how many were claimed; 0 if none could be
   * @throws SQLException if the database, not a notification, is in trouble
   */
  int claim(boolean due) throws SQLException {
    // No cursor of an earlier claim: what that one passed over may be free by now.
    var cursors = ClaimCursors.create(subscribed.goesByKey());
    var loop = ClaimLoop.of(subscribed, context, cursors, reports, pausing);
    isDue = due;
    found = 0;
    do {
      slot = Objects.requireNonNull(slots.take(), "a handler that was cut off has its slot");
      try {
        loop.work(this);
      } finally {
        slot.leave();
      }
    } while (found == 0 && cursors.isMore());
    return found;
  }

  @Override
  public WorkerSlots.Slot slot() {
    return Objects.requireNonNull(slot);
  }

  @Override
  public void rest(Duration time) {}

  @Override
  public boolean begins() {
    return isDue;
  }

  @Override
  public boolean beginsBehindCommit() {
    return false;
  }

  @Override
  public int permits(int wanted) {
    return wanted;
  }

  @Override
  public void found(List<Claim> claims, int most) {
    found = claims.size();
  }

  @Override
  public boolean mayBegin() {
    return true;
  }

  @Override
  public boolean begin(WorkerSlots.Attempt attempt, int count) {
    return slot().begin(attempt);
  }

  @Override
  public void ended(RowsBehind left) {}

  @Override
  public void handsOver() {}

  @Override
  public boolean mayGoOn() {
    return false;
  }
}
