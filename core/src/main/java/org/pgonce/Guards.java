package org.pgonce;

import java.sql.Connection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.guard.GuardDesk;
import org.pgonce.internal.guard.GuardStore;

/**
 * Keeps a call from being made twice, with or without a channel.
 *
 * <pre>{@code
 * static final Guard<Charge, Receipt> PAYMENT = Guard.of("payment", Charge.class, Receipt.class);
 *
 * var paid = pgonce.guards().once(PAYMENT, "order-42", charge, () -> bank.charge(charge));
 * var receipt = paid.orElseThrow();
 * }</pre>
 *
 * <p>Two forms, which promise different things:
 *
 * <table>
 * <caption>What each form can promise</caption>
 * <tr><th></th><th>{@link #once}</th><th>{@link #inTransaction}</th></tr>
 * <tr><td>for</td><td>a call to another system</td><td>a step whose effects are in this database</td></tr>
 * <tr><td>order</td><td>guard row, commit; call; outcome, commit</td>
 *     <td>guard row; step; outcome; then the caller commits, or not</td></tr>
 * <tr><td>crash before the call</td><td>0 calls, listed as UNKNOWN</td><td>nothing happened, may be begun again</td></tr>
 * <tr><td>crash in or after the call</td><td>1 call, listed as UNKNOWN</td>
 *     <td>nothing happened in the database, may be begun again; what the step did elsewhere happens twice then</td></tr>
 * <tr><td>so</td><td>at most once, wherever its effects are</td>
 *     <td>exactly once in the database; elsewhere at least once</td></tr>
 * </table>
 *
 * <p>All of it for as long as the guard is kept ({@link GuardOptions#retention()}) and PostgreSQL
 * keeps what it acknowledged: after a restore, or a failover that lost commits, guards are missing.
 * {@link #once} commits with {@code synchronous_commit = on} whatever the default is, so a crash of
 * the server loses none. {@link #inTransaction} leaves the setting to the caller: a commit that is
 * lost takes the guard and the step's effects together. A process that is frozen between the commit
 * and the call for longer than {@link GuardOptions#longestCall()} calls when it thaws; so whoever
 * settles what is UNKNOWN as repeatable must know that the first one cannot come any more.
 *
 * <p>Safe for use by several threads. The role needs {@code pgonce_guard} or {@code
 * pgonce_listener}.
 */
public final class Guards {

  private static final int MOST_LISTED = 100_000;

  private final GuardDesk desk;

  Guards(GuardStore store) {
    this.desk = new GuardDesk(store);
  }

  /** Without a {@link PgOnce}: with the standard codec, and this process's id as its name. */
  public static Guards using(DataSource dataSource) {
    return PgOnce.using(dataSource).guards();
  }

  /**
   * Makes the call, if nobody has made it before with this key; else says what became of it. Of
   * many that come at once one calls.
   *
   * <p>Two short transactions of their own on connections of the data source: the guard is begun
   * and committed; the call is made on this thread, with no connection held; its outcome is
   * committed. A repeat costs one. Inside a handler they are other transactions than the handler's.
   *
   * @return Succeeded with the response of the call made here, or the stored one of the first call,
   *     whatever the call would return now; InProgress, Failed or Unknown otherwise, also where the
   *     call made here threw: then with its exception as the cause. An interrupt of the call is
   *     given back to the thread
   * @throws IllegalArgumentException if the key is not as {@link GuardKey} says, or the request
   *     cannot be encoded; before any SQL runs
   * @throws RequestMismatchException if the key was begun with another request
   * @throws OutcomeNotRecordedException if the call was made, and what it came to could not be
   *     stored
   * @throws PgOnceException if the database refuses or cannot be reached; the call was not made
   *     then. If the connection ended in the commit, the guard may be there all the same, and is
   *     listed
   */
  public <Q, R> GuardResult<R> once(Guard<Q, R> guard, String key, Q request, Callable<R> call) {
    Objects.requireNonNull(guard, "guard");
    var where = guard.key(key);
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(call, "call");
    return desk.once(guard, where, request, call);
  }

  /**
   * Runs a step in the caller's transaction, if no committed transaction has run it with this key;
   * else says what is there. The guard, the step's effects and its result commit together, with the
   * caller's transaction, or not at all. Two statements; one for a repeat.
   *
   * <p>Waits for another transaction that has the same key, {@link GuardOptions#longestWait()} at
   * most, and then says InProgress; the transaction can go on. At REPEATABLE READ or SERIALIZABLE
   * it may have to be begun again instead (SQLState 40001).
   *
   * @param transaction with autocommit off
   * @param step runs on this thread and writes through the same connection
   * @throws IllegalArgumentException if autocommit is on, or as for {@link #once}; or if the
   *     response cannot be stored
   * @throws RequestMismatchException if the key was begun with another request; the transaction can
   *     go on
   * @throws java.sql.SQLException if the database refuses: roll back then
   * @throws Exception what the step throws: roll back then. If you commit all the same, the guard
   *     is kept as FAILED or UNKNOWN, as {@link GuardOptions#failures()} says
   */
  public <Q, R> GuardResult<R> inTransaction(
      Connection transaction, Guard<Q, R> guard, String key, Q request, Callable<R> step)
      throws Exception {
    Objects.requireNonNull(transaction, "transaction");
    Objects.requireNonNull(guard, "guard");
    var where = guard.key(key);
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(step, "step");
    return desk.inTransaction(transaction, guard, where, request, step);
  }

  /**
   * Asks the outside what became of a call whose outcome is UNKNOWN, and stores what it says. Does
   * not ask where the outcome is known, or the call may still run. Several probes at once are safe:
   * the first answer is stored, and all learn that one.
   *
   * @param key of a guard, or of a step that happens at most once
   * @param type of the response
   * @return what is there then; empty if there is no such guard
   * @throws Exception what the probe throws; then nothing was changed
   * @throws IllegalArgumentException if the response that it found cannot be stored
   * @throws PgOnceException if the database refuses or cannot be reached
   */
  public <R> Optional<GuardResult<R>> probe(GuardKey key, Class<R> type, GuardProbe<R> probe)
      throws Exception {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(probe, "probe");
    return desk.probe(key, type, probe);
  }

  /**
   * What is stored of a guard, a sequence or a step; empty if it is not there.
   *
   * @throws PgOnceException if the database refuses or cannot be reached
   */
  public Optional<GuardState> find(GuardKey key) {
    return desk.find(Objects.requireNonNull(key, "key"));
  }

  /**
   * What is open, the oldest first: calls that run (STARTED), calls whose outcome is UNKNOWN, and
   * sequences that are not at their end. The view {@code pgonce.guard_status} shows the same.
   *
   * @param limit at most so many, 1 to 100,000
   * @throws IllegalArgumentException if the limit is another one
   * @throws PgOnceException if the database refuses or cannot be reached
   */
  public List<GuardState> open(int limit) {
    return listed(null, limit);
  }

  /** As {@link #open(int)}, of one guard or sequence. */
  public List<GuardState> open(String scope, int limit) {
    return listed(Objects.requireNonNull(scope, "scope"), limit);
  }

  private List<GuardState> listed(@Nullable String scope, int limit) {
    if (limit < 1 || limit > MOST_LISTED) {
      throw new IllegalArgumentException("limit " + limit + " is not between 1 and 100,000");
    }
    return desk.open(scope, limit);
  }

  /**
   * Deletes guards and sequences that are done and older than their retention, in transactions of
   * 1,000 each. What is STARTED or UNKNOWN is never deleted, nor what was promised to be kept
   * longer. Nothing calls this by itself: call it now and then, from any number of processes.
   *
   * @param limit at most so many, at least 1
   * @return how many
   * @throws IllegalArgumentException if the limit is below 1
   * @throws PgOnceException if the database refuses or cannot be reached; the transactions before
   *     are committed
   */
  public long purge(long limit) {
    if (limit < 1) {
      throw new IllegalArgumentException("limit " + limit + " is below 1");
    }
    return desk.purge(limit);
  }

  /** What a person decides about guards. Needs the role {@code pgonce_admin}, or the owner's. */
  public GuardOverrides overrides() {
    return new GuardOverrides(desk);
  }
}
