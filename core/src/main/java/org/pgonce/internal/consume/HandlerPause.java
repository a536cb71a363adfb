package org.pgonce.internal.consume;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.operate.OperateStatements;
import org.pgonce.internal.poll.Poll;
import org.pgonce.internal.settle.Pauser;

/** A handler pauses its subscription, as this instance. */
record HandlerPause(Registration<?> subscribed, ListenerContext context, Pausing pausing, Poll poll)
    implements Pauser {

  @Override
  public void begins() {
    pausing.asks();
  }

  @Override
  public void pause(Connection transaction, String reason) throws SQLException {
    OperateStatements.pauseByHandler(
        transaction, subscribed.name(), subscribed.subscription(), reason, context.instance());
  }

  @Override
  public void ends() {
    pausing.asked(poll.begun());
    poll.within(Duration.ZERO);
  }
}
