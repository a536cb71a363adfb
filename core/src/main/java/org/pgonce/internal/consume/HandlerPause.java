package org.pgonce.internal.consume;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.poll.Poll;
import org.pgonce.internal.settle.Pauser;
import org.pgonce.internal.store.OperatorName;

/** Pauses the subscription for its handler, in the name of this instance. */
record HandlerPause(Registration<?> subscribed, ListenerContext context, Pausing pausing, Poll poll)
    implements Pauser {

  // A transaction that pauses or resumes the subscription may be left open.
  private static final String BOUND_THE_WAIT = "SET LOCAL lock_timeout = '5s'";
  private static final String PAUSE = "SELECT pgonce.pause(?, ?, ?)";

  @Override
  public void begins() {
    pausing.asks();
  }

  /** No error if the subscription is paused already. */
  @Override
  public void pause(Connection transaction, String reason) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(BOUND_THE_WAIT);
    }
    OperatorName.set(transaction, context.instance());
    try (var statement = transaction.prepareStatement(PAUSE)) {
      statement.setString(1, subscribed.name());
      statement.setString(2, reason);
      statement.setString(3, subscribed.subscription());
      statement.execute();
    }
  }

  @Override
  public void ends() {
    pausing.asked(poll.begun());
    poll.within(Duration.ZERO);
  }
}
