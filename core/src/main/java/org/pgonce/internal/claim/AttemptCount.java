package org.pgonce.internal.claim;

/**
 * Where attempts are counted: the number that a row has from now on, in its column {@code
 * attempts}.
 *
 * <table>
 * <caption>When</caption>
 * <tr><th>what happens</th><th>counts</th></tr>
 * <tr><td>a lease</td><td>this attempt, before its handler begins: sql/claim.sql</td></tr>
 * <tr><td>the handler failed</td><td>this attempt, in the claim's transaction if that lives</td></tr>
 * <tr><td>an earlier claim did not settle the row (a suspect)</td><td>the next attempt, before its
 * handler begins</td></tr>
 * <tr><td>it is given back, put back for a newer version, or paused</td><td>not this one</td></tr>
 * </table>
 */
public final class AttemptCount {

  private AttemptCount() {}

  /** Which attempt this claim is, from 1; what the row has once it failed. */
  public static int of(Claim claim) {
    return claim.token() == null ? claim.attempts() + 1 : claim.attempts();
  }

  /** Without this claim. */
  public static int without(Claim claim) {
    return of(claim) - 1;
  }

  /** With the attempt after those that the row has: of a suspect, whose next one is to begin. */
  public static int ahead(Claim suspect) {
    return suspect.attempts() + 1;
  }
}
