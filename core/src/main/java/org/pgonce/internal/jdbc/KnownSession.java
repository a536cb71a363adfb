package org.pgonce.internal.jdbc;

/**
 * What is known of a server session before pgonce changes anything in it.
 *
 * @param pid its server process
 * @param idle its idle_in_transaction_session_timeout, and
 * @param boundedIdle the same within the transaction of a claim
 * @param clientCheck its client_connection_check_interval within such a transaction
 * @param settings with boundedIdle
 */
public record KnownSession(
    int pid, String idle, String boundedIdle, String clientCheck, SessionState settings) {

  /** With these settings instead. */
  public KnownSession with(SessionState others) {
    return new KnownSession(pid, idle, boundedIdle, clientCheck, others);
  }
}
