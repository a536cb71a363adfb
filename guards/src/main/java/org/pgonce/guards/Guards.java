package org.pgonce.guards;

import java.sql.Connection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnceException;
import org.pgonce.guards.internal.GuardSchema;
import org.pgonce.guards.internal.GuardService;

/**
 * Keeps a call from being made twice, with or without a channel.
 *
 * <pre>{@code
 * static final Guard<Charge, Receipt> PAYMENT = Guard.of("payment", Charge.class, Receipt.class);
 *
 * var guards = Guards.using(dataSource).install();
 * var paid = guards.once(PAYMENT, "order-42", charge, () -> bank.charge(charge));
 * var receipt = paid.orElseThrow();
 * }</pre>
 *
 * <p>Two forms, which promise different things. {@link #run} makes several calls in a row, with a
 * recovery point after each. A key of a sequence cannot be one of a single call.
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
 * <p>All of it holds for as long as the guard is kept ({@link GuardOptions#retention()}) and
 * PostgreSQL keeps what it acknowledged: after a restore, or a failover that lost commits, guards
 * are missing. {@link #once} commits with {@code synchronous_commit = on} whatever the default is,
 * so a crash of the server loses none. {@link #inTransaction} leaves the setting to the caller: a
 * commit that is lost takes the guard and the step's effects together. A process that is frozen
 * between the commit and the call for longer than {@link GuardOptions#longestCall()} calls when it
 * thaws: settle an UNKNOWN call as repeatable only if the first one cannot come any more.
 *
 * <p>Safe for use by several threads. The role needs {@code pgonce_guard} or {@code
 * pgonce_listener}; {@link #release} and {@link #settle} need {@code pgonce_admin}.
 */
public final class Guards {

  private static final int MOST_LISTED = 100_000;

  private final GuardService service;

  Guards(GuardService service) {
    this.service = service;
  }

  /** With the standard codec, and this process's id as its name. Opens no connection. */
  public static Guards using(DataSource dataSource) {
    return builder(dataSource).build();
  }

  /** With settings of your own. */
  public static GuardsBuilder builder(DataSource dataSource) {
    return new GuardsBuilder(dataSource);
  }

  /**
   * Brings the schema {@code pgonce_guards} into the database, in one transaction; no channel is
   * needed. Idempotent; safe when several processes do it at once. A schema that lost its owners or
   * rights in a restore gets them back. A newer one is left alone. Waits 10 s for a lock at most.
   *
   * @throws PgOnceException if the role may not install, or the database cannot be reached
   */
  public Guards install() {
    service.install();
    return this;
  }

  /**
   * What {@link #install} runs, as SQL for a reviewer and a migration tool. It may run again: with
   * Flyway, give it a name without a version, such as {@code R__pgonce_guards.sql}.
   */
  public static String migration() {
    return GuardSchema.script();
  }

  /**
   * Makes the call, if nobody has made it before with this key; else returns what became of it. Of
   * many that come at once, one calls.
   *
   * <p>Two short transactions of their own on connections of the data source: the guard is begun
   * and committed; the call is made on this thread, with no connection held; its outcome is
   * committed. A repeat costs one. Inside a handler they are other transactions than the handler's.
   *
   * @return Succeeded with the response of the call made here, or the stored one of the first call,
   *     whatever the call would return now; InProgress, Failed or Unknown otherwise, also where the
   *     call made here threw: then with its exception as the cause. An interrupt of the call is
   *     given back to the thread
   * @throws IllegalArgumentException if the key is not as {@link GuardKey} says, the request cannot
   *     be encoded, or nothing could be decoded as the response's type; before any SQL runs
   * @throws RequestMismatchException if the key was begun with another request
   * @throws OutcomeNotRecordedException if the call was made, and its outcome could not be stored
   * @throws PgOnceException if the database refuses or cannot be reached; the call was not made
   *     then. If the connection ended in the commit, the guard may be there all the same, and is
   *     listed
   */
  public <Q, R> GuardResult<R> once(Guard<Q, R> guard, String key, Q request, Callable<R> call) {
    Objects.requireNonNull(guard, "guard");
    var where = guard.key(key);
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(call, "call");
    return service.once(guard, where, request, call);
  }

  /**
   * Runs a step in the caller's transaction, if no committed transaction has run it with this key;
   * else returns what is there. The guard, the step's effects and its result commit together, with
   * the caller's transaction, or not at all. Two statements; one for a repeat.
   *
   * <p>Waits for another transaction that has the same key, {@link GuardOptions#longestWait()} at
   * most, and then returns InProgress; the transaction can go on. At REPEATABLE READ or
   * SERIALIZABLE it may have to be begun again instead (SQLState 40001).
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
    return service.inTransaction(transaction, guard, where, request, step);
  }

  /**
   * Runs a sequence of steps from its last recovery point to its end, or returns what keeps it from
   * that. See {@link Steps}.
   *
   * @return Succeeded with the body's result, or with the stored one of an earlier run; InProgress
   *     if another run holds it; Unknown or Failed, as the step that was not done; Failed and
   *     repeatable, with the cause, if the body threw anything else: the next run resumes. An
   *     interrupt of the body is given back to the thread
   * @throws IllegalArgumentException as {@link #once}
   * @throws RequestMismatchException if the key was begun with another request
   * @throws OutcomeNotRecordedException if the body, or a step that happens at most once, came to
   *     its end and that could not be stored
   * @throws PgOnceException if the database refuses or cannot be reached; nothing was run then
   */
  public <Q, R> GuardResult<R> run(Guard<Q, R> guard, String key, Q request, Steps.Body<R> body) {
    Objects.requireNonNull(guard, "guard");
    var where = guard.key(key);
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(body, "body");
    return service.run(guard, where, request, body);
  }

  /**
   * Asks the outside what became of a call whose outcome is UNKNOWN, and stores the answer. Does
   * not ask where the outcome is known, or the call may still run. Several probes at once are safe:
   * the first answer is stored, and all return that one.
   *
   * @param key of a guard, or of a step that happens at most once
   * @param type of the response
   * @param probe asks. Several may ask at once, so it must only read
   * @return what is there then; empty if there is no such guard
   * @throws Exception what the probe throws; then nothing was changed
   * @throws IllegalArgumentException if the response that it found cannot be stored
   * @throws PgOnceException if the database refuses or cannot be reached
   */
  public <R> Optional<GuardResult<R>> probe(
      GuardKey key, Class<R> type, Callable<GuardAnswer<R>> probe) throws Exception {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(probe, "probe");
    return service.probe(key, type, probe);
  }

  /**
   * What is stored of a guard, a sequence or a step; empty if it is not there.
   *
   * @throws PgOnceException if the database refuses or cannot be reached
   */
  public Optional<GuardState> find(GuardKey key) {
    return service.find(Objects.requireNonNull(key, "key"));
  }

  /**
   * What is open, the oldest first: calls that run (STARTED), calls whose outcome is UNKNOWN, and
   * sequences that are not at their end. The view {@code pgonce_guards.guard_status} shows the
   * same, and calls that have failed for good.
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
    return service.open(scope, limit);
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
    return service.purge(limit);
  }

  /**
   * Lets a call be begun again, by the next that comes with the same key and the same request: one
   * whose outcome is UNKNOWN, or that failed for good. Make sure before that the first call has had
   * no effect and will have none. As {@link #settle}, with {@link GuardAnswer#mayBeRepeated}.
   */
  public void release(GuardKey key, String who, String why) {
    requireDecision(key, who, why);
    service.settle(key, Object.class, GuardAnswer.mayBeRepeated(why), who, why);
  }

  /**
   * Settles a call whose outcome is UNKNOWN, or that failed for good, as a person decides: it
   * happened, with this response; or it did not. {@link GuardAnswer#didNotHappen} gives a sequence
   * up: it is not resumed then. One that has succeeded, and whose response could not be stored, may
   * be given one. One transaction.
   *
   * <p>It is recorded in {@code pgonce_guards.guard_history}: who, why, when, and by which login;
   * it stays there when the guard is gone. Needs the role {@code pgonce_admin}, or the owner's.
   *
   * @param who 1 to 200 characters
   * @param why 1 to 2,000 characters
   * @throws IllegalArgumentException if one of them is blank or longer, or the answer is {@link
   *     GuardAnswer#cannotTell}, or its response cannot be stored; before any SQL runs
   * @throws PgOnceException if the database refuses: the guard is not there, the call may still
   *     run, it has succeeded with a response, or the role is missing; nothing was changed then
   */
  public <R> void settle(
      GuardKey key, Class<R> type, GuardAnswer<R> answer, String who, String why) {
    requireDecision(key, who, why);
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(answer, "answer");
    service.settle(key, type, answer, who, why);
  }

  private static void requireDecision(GuardKey key, String who, String why) {
    Objects.requireNonNull(key, "key");
    requireText("who", who, 200);
    requireText("why", why, 2_000);
  }

  static String requireText(String name, String text, int most) {
    Objects.requireNonNull(text, name);
    if (text.isBlank() || text.length() > most) {
      throw new IllegalArgumentException(
          name + " has " + text.length() + " characters: 1 to " + most + ", not blank");
    }
    return text;
  }
}
