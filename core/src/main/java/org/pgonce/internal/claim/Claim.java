package org.pgonce.internal.claim;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A notification that the current transaction holds, or a lease.
 *
 * @param subscription the subscription whose row it is
 * @param scheduled whether it waits among the scheduled rows
 * @param attempts as the row counts them: the failed ones, and this one too where it is leased
 * @param token of its lease; null where the transaction is what holds it
 * @param createdAt when it was stored
 * @param claimedAt when it was claimed, both by the database's clock
 * @param headers where it comes from
 * @param suspect whether an earlier claim of it ended without a word, as one does whose process
 *     dies
 * @param holder the session that holds it; null where its lease does
 * @param sessionBefore where the handler's savepoint was set with the claim, the session's settings
 *     by then; null if it was not
 */
public record Claim(
    int subscription,
    long id,
    boolean scheduled,
    int attempts,
    @Nullable String token,
    Instant createdAt,
    Instant claimedAt,
    Payload payload,
    NotificationHeaders headers,
    boolean suspect,
    @Nullable ClaimHolder holder,
    @Nullable String sessionBefore) {

  /** The id; the payload stays out of messages. */
  @Override
  public String toString() {
    return "notification " + id + " (subscription " + subscription + ", attempt " + attempt() + ")";
  }

  /**
   * Where what comes from several that are handled as one: from the deepest, and what they share.
   */
  public static NotificationHeaders headersOf(List<Claim> claims) {
    var context = claims.get(0).headers.context();
    var isShared = claims.stream().allMatch(one -> Objects.equals(one.headers.context(), context));
    var deepest = claims.stream().mapToInt(one -> one.headers.depth()).max().orElse(0);
    return new NotificationHeaders(null, null, isShared ? context : null, deepest, 1);
  }

  /** Their ids as an array of PostgreSQL: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9. */
  public static String ids(List<Claim> claims) {
    return claims.stream()
        .map(claim -> String.valueOf(claim.id()))
        .collect(Collectors.joining(",", "{", "}"));
  }

  public Duration age() {
    var age = Duration.between(createdAt, claimedAt);
    return age.isNegative() ? Duration.ZERO : age;
  }

  /** The same, leased for its next attempt. */
  public Claim leasedAgain(String newToken) {
    return new Claim(
        subscription,
        id,
        scheduled,
        attempts + 1,
        newToken,
        createdAt,
        claimedAt,
        payload,
        headers,
        suspect,
        holder,
        null);
  }

  /**
   * Whether it has to be alone in its process: it was in two deaths, or another one would use its
   * attempts up.
   */
  public boolean mustBeAlone(int deaths, int nextAttempt, int maxAttempts) {
    return suspect && (deaths >= 2 || nextAttempt >= maxAttempts);
  }

  /** Which attempt this is, from 1. */
  public int attempt() {
    return token == null ? attempts + 1 : attempts;
  }
}
