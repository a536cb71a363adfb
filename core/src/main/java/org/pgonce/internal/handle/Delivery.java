package org.pgonce.internal.handle;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.pgonce.Notification;
import org.pgonce.Publisher;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.NotificationHeaders;
import org.pgonce.internal.store.HandlerDepth;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/** Decodes claimed notifications of one subscription and runs its handler. */
public final class Delivery<T> {

  private final Registration<T> subscribed;
  private final PayloadReader<T> reader;
  private final Publisher publisher;

  public Delivery(Registration<T> subscribed, PayloadCodec codec, Publisher publisher) {
    this.subscribed = subscribed;
    this.reader = new PayloadReader<>(subscribed.channel(), codec);
    this.publisher = publisher;
  }

  /**
   * Runs the handler on a guarded connection, which it may never ask for.
   *
   * @return whether it was run: not if its condition does not hold
   * @throws UnreadablePayloadException if there is nothing to run it with
   * @throws NewerVersionException if others have
   * @throws TooDeepException if its channel allows no such depth
   * @throws Exception whatever the handler throws
   */
  public boolean run(Claim claim, HandlerTx.ConnectionSupplier connection) throws Exception {
    return run(notification(claim), connection);
  }

  /** The same for a broadcast. */
  public boolean run(
      long id, NotificationHeaders headers, String json, HandlerTx.ConnectionSupplier connection)
      throws Exception {
    subscribed.requireDepth(headers.depth());
    var payload = reader.read(id, headers.version(), json);
    return run(subscribed.notification(id, 1, null, headers, payload), connection);
  }

  private boolean run(Notification<T> notification, HandlerTx.ConnectionSupplier connection)
      throws Exception {
    var tx = new HandlerTx(connection, publisher);
    return HandlerDepth.within(notification.depth(), () -> subscribed.handle(notification, tx));
  }

  /**
   * The same for several in one transaction: a handler of lists gets all of them, another one runs
   * for each, with the context and depth of that notification.
   *
   * @return the ids of those that it was run for
   */
  public Set<Long> runAll(List<Claim> claims, GuardedConnection guarded) throws Exception {
    var notifications = new ArrayList<Notification<T>>();
    for (var claim : claims) {
      notifications.add(notification(claim));
    }
    var tx = new HandlerTx(guarded::connection, publisher);
    if (!subscribed.handler().takesList()) {
      return inTurns(claims, notifications, guarded.scope, tx);
    }
    var depth = Claim.headersOf(claims).depth();
    return HandlerDepth.within(depth, () -> subscribed.handler().run(notifications, tx)).stream()
        .map(Notification::id)
        .collect(Collectors.toUnmodifiableSet());
  }

  /** One after the other, each condition right before its handler. */
  private Set<Long> inTurns(
      List<Claim> claims, List<Notification<T>> notifications, HandlerScope scope, HandlerTx tx)
      throws Exception {
    var ran = new HashSet<Long>();
    for (var i = 0; i < claims.size(); i++) {
      var notification = notifications.get(i);
      var origin = claims.get(i).headers();
      scope.turnTo(origin);
      if (HandlerDepth.within(origin.depth(), () -> subscribed.handle(notification, tx))) {
        ran.add(notification.id());
      }
    }
    scope.turnToAll(Claim.headersOf(claims));
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
