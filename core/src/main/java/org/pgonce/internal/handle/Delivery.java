package org.pgonce.internal.handle;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.pgonce.Notification;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.NotificationHeaders;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.store.PublishStatements;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/** Decodes claimed notifications of one subscription and runs its handler. */
public final class Delivery<T> {

  private final Registration<T> subscribed;
  private final PayloadReader<T> reader;
  private final List<HandlerInterceptor> interceptors;

  public Delivery(Registration<T> subscribed, ListenerContext context) {
    this.subscribed = subscribed;
    this.reader = new PayloadReader<>(subscribed.channel(), context.codec());
    this.interceptors = context.interceptors();
  }

  /**
   * Runs the handler, and ends what it may do with its transaction besides the connection.
   *
   * @return whether it was run: not if its condition does not hold
   */
  public boolean run(Claim claim, HandlerTx tx) throws Exception {
    return run(notification(claim), tx);
  }

  /** The same for a broadcast. */
  public boolean run(long id, NotificationHeaders headers, String json, HandlerTx tx)
      throws Exception {
    subscribed.requireDepth(headers.depth());
    var payload = reader.read(id, headers.version(), json);
    return run(subscribed.notification(id, 1, null, headers, payload), tx);
  }

  private boolean run(Notification<T> notification, HandlerTx tx) throws Exception {
    try {
      return !intercepted(notification.depth(), List.of(notification), tx).isEmpty();
    } finally {
      tx.end();
    }
  }

  /** Returns those that the handler was run for. */
  private List<Notification<T>> intercepted(
      int depth, List<Notification<T>> notifications, HandlerTx tx) throws Exception {
    return PublishStatements.inHandler(
        depth,
        () ->
            interceptors.isEmpty()
                ? subscribed.handler().run(notifications, tx)
                : new Interception<>(interceptors, subscribed, notifications, tx).run());
  }

  /**
   * The same for several in one transaction: a handler of lists gets all of them, another one runs
   * for each, with the context and depth of that notification. Returns the ids of those that it was
   * run for.
   */
  public Set<Long> runAll(List<Claim> claims, GuardedConnection guarded, HandlerTx tx)
      throws Exception {
    var notifications = new ArrayList<Notification<T>>();
    for (var claim : claims) {
      notifications.add(notification(claim));
    }
    try {
      if (!subscribed.handler().takesList()) {
        return inTurns(claims, notifications, guarded.run, tx);
      }
      var depth = Claim.headersOf(claims).depth();
      return intercepted(depth, List.copyOf(notifications), tx).stream()
          .map(Notification::id)
          .collect(Collectors.toUnmodifiableSet());
    } finally {
      tx.end();
    }
  }

  /** One after the other, each condition right before its handler. */
  private Set<Long> inTurns(
      List<Claim> claims, List<Notification<T>> notifications, HandlerRun run, HandlerTx tx)
      throws Exception {
    var ran = new HashSet<Long>();
    for (var i = 0; i < claims.size(); i++) {
      var notification = notifications.get(i);
      var origin = claims.get(i).headers();
      run.turnTo(origin);
      if (!intercepted(origin.depth(), List.of(notification), tx).isEmpty()) {
        ran.add(notification.id());
      }
    }
    run.turnToAll(Claim.headersOf(claims));
    return ran;
  }

  private Notification<T> notification(Claim claim)
      throws SQLException, UnreadablePayloadException, NewerVersionException, TooDeepException {
    subscribed.requireDepth(claim.headers().depth());
    var version = claim.headers().version();
    var payload = reader.read(claim.id(), version, claim.payload().text());
    return subscribed.notification(
        claim.id(), claim.attempt(), claim.createdAt(), claim.headers(), payload);
  }
}
