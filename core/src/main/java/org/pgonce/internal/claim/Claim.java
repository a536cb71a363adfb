package org.pgonce.internal.claim;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.SessionState;
import org.pgonce.internal.jdbc.Statements;

/**
 * A notification that is held by the current transaction, or by a lease. When its row counts an
 * attempt, in its column {@code attempts}:
 *
 * <table>
 * <caption>When</caption>
 * <tr><th>what happens</th><th>counts</th></tr>
 * <tr><td>a lease</td><td>this attempt, before its handler begins: sql/lease.sql</td></tr>
 * <tr><td>the handler failed</td><td>this attempt, in the claim's transaction if that lives: {@code
 * pgonce.schedule}, or {@code pgonce.bury} for the last one, of sql/settle.sql</td></tr>
 * <tr><td>an earlier claim did not settle the row (a suspect)</td><td>the next attempt, before its
 * handler begins: {@code pgonce.schedule} too</td></tr>
 * <tr><td>it is given back, put back for a newer version, paused, in a batch that is undone, or run
 * again after a deadlock</td><td>not this one</td></tr>
 * </table>
 *
 * @param scheduled whether its row is among the scheduled ones
 * @param attempts as the row counts them: the failed ones, and a leased one that is under way
 * @param token of its lease; null where the transaction holds it
 * @param createdAt when it was stored,
 * @param dueAt since when it was due, and
 * @param claimedAt when it was claimed, by the database's clock
 * @param suspect whether an earlier claim of it did not settle it, as if its process had died
 * @param holder the session that holds it; null where a lease does
 */
public record Claim(
    int subscription,
    long id,
    boolean scheduled,
    int attempts,
    @Nullable String token,
    Instant createdAt,
    Instant dueAt,
    Instant claimedAt,
    Payload payload,
    NotificationHeaders headers,
    boolean suspect,
    @Nullable HandlerSession holder) {

  // held is who locked the row before: nobody, or a transaction that did not commit. In SQL_ASCII a
  // payload may be no UTF-8, which the server does not send: its attempt fails of that, not a
  // claim.
  static final String COLUMNS =
      """
      c.id, c.attempts, c.created_at, c.due_at, pg_catalog.clock_timestamp() AS claimed_at,
      CASE WHEN pg_catalog.pg_column_size(c.payload) OPERATOR(pg_catalog.<=) %s AND pg_catalog.getdatabaseencoding() OPERATOR(pg_catalog.<>) 'SQL_ASCII' THEN c.payload END AS payload,
      c.delivery_key, c.order_key, c.context, c.stamp, c.token, c.held"""
          .formatted(Payload.SHORT);

  static Claim read(
      ResultSet row,
      int subscription,
      boolean scheduled,
      boolean suspect,
      @Nullable HandlerSession holder,
      Payload.Reading reading)
      throws SQLException {
    var id = row.getLong("id");
    var createdAt = row.getObject("created_at", OffsetDateTime.class).toInstant();
    // A new row has neither this nor a token.
    var dueAt = row.getObject("due_at", OffsetDateTime.class);
    return new Claim(
        subscription,
        id,
        scheduled,
        row.getInt("attempts"),
        row.getString("token"),
        createdAt,
        dueAt == null ? createdAt : dueAt.toInstant(),
        row.getObject("claimed_at", OffsetDateTime.class).toInstant(),
        new Payload(row.getString("payload"), reading, subscription, id, scheduled),
        NotificationHeaders.stamped(
            row.getString("delivery_key"),
            row.getString("order_key"),
            row.getString("context"),
            row.getInt("stamp")),
        suspect,
        holder);
  }

  /** The id; the payload stays out of messages. */
  @Override
  public String toString() {
    return "notification " + id + " (subscription " + subscription + ", attempt " + attempt() + ")";
  }

  /** The headers of what several handled as one publish: the deepest, and what they share. */
  public static NotificationHeaders headersOf(List<Claim> claims) {
    var context = claims.get(0).headers.context();
    var isShared = claims.stream().allMatch(one -> Objects.equals(one.headers.context(), context));
    var deepest = claims.stream().mapToInt(one -> one.headers.depth()).max().orElse(0);
    return new NotificationHeaders(null, null, isShared ? context : null, deepest, 1);
  }

  /** Their ids as an array of PostgreSQL. */
  public static String ids(List<Claim> claims) {
    return Statements.array(claims.stream().map(Claim::id).toList());
  }

  /** From its storing to the claim. */
  public Duration age() {
    return toClaimFrom(createdAt);
  }

  /** From when it was due to the claim. */
  public Duration lag() {
    return toClaimFrom(dueAt);
  }

  private Duration toClaimFrom(Instant start) {
    var length = Duration.between(start, claimedAt);
    return length.isNegative() ? Duration.ZERO : length;
  }

  /** The same when its next attempt is counted, under a token. */
  public Claim countedAhead(String newToken) {
    return with(true, attempts + 1, newToken, dueAt);
  }

  /** The same row again, that this process has let go: it is due since it was due before. */
  Claim dueAs(Claim before) {
    return with(scheduled, attempts, token, before.dueAt);
  }

  private Claim with(
      boolean nowScheduled, int nowAttempts, @Nullable String nowToken, Instant nowDueAt) {
    return new Claim(
        subscription,
        id,
        nowScheduled,
        nowAttempts,
        nowToken,
        createdAt,
        nowDueAt,
        claimedAt,
        payload,
        headers,
        suspect,
        holder);
  }

  /**
   * Whether it has to be alone in its process: it was in two deaths, or another one would use its
   * attempts up.
   */
  public boolean mustBeAlone(int maxAttempts) {
    // A lease counts its attempt ahead. A transaction does so from the first death on, under a
    // token; without one only the row's former lock speaks, which a failed batch leaves too.
    var isInTwo = holder == null ? attempts >= 2 : token != null;
    return suspect && (isInTwo || nextAttempt() >= maxAttempts);
  }

  /** Which attempt this is, from 1; what the row counts once it failed. */
  public int attempt() {
    return token == null ? attempts + 1 : attempts;
  }

  /** The attempt of a suspect that is to begin. */
  public int nextAttempt() {
    return attempts + 1;
  }

  /** Settings of its session before the handler's savepoint; null if the claim did not set it. */
  public @Nullable SessionState sessionBefore() {
    return holder == null ? null : holder.settings();
  }
}
