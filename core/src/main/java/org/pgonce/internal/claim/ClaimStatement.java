package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.internal.deliver.GuardedConnection;
import org.pgonce.internal.deliver.PoolSettings;

/**
 * The claim: one row, locked for the caller's transaction; rows that others hold are passed over.
 *
 * <p>Its plan goes by the index because the tables hold a ballast (keep_ballast in
 * sql/V003__claim_and_settle.sql). The outer select is for the one row that is locked; columns of
 * the inner one would be computed for each row that is passed over. Operators are qualified since
 * the session's search path is whatever the application makes it.
 */
public final class ClaimStatement {

  // Of the session; nothing before the last one can hold the separator.
  private static final String SEPARATOR = ";";
  private static final int VALUES = ClaimHolder.VALUES + 2;
  private static final String OF_SESSION =
      "pg_catalog.concat_ws('%s', %s, %s"
          .formatted(SEPARATOR, ClaimHolder.COLUMNS, PoolSettings.COLUMN);

  // Earliest first. The subselect makes now a bound of the index scan: a volatile function would be
  // a filter over all that is due later.
  private static final String DUE_ROWS =
      """
          SELECT s.subscription_id, s.id, s.attempts, s.created_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, s.xmax AS held
            FROM pgonce.scheduled AS s
           WHERE s.subscription_id OPERATOR(pg_catalog.=) ?
             AND s.due_at OPERATOR(pg_catalog.<=) (SELECT pg_catalog.clock_timestamp())
           ORDER BY s.due_at, s.id LIMIT %d FOR UPDATE SKIP LOCKED
          """;
  private static final String NEW_ROWS =
      """
          SELECT n.subscription_id, n.id, 0 AS attempts, n.created_at, n.payload, n.delivery_key, n.order_key, n.context, n.stamp, NULL::pg_catalog.uuid AS token, n.xmax AS held
            FROM pgonce.notification AS n
           WHERE n.subscription_id OPERATOR(pg_catalog.=) ? AND n.id OPERATOR(pg_catalog.>) ?
           ORDER BY n.id LIMIT %d FOR UPDATE SKIP LOCKED
          """;
  private static final One DUE = One.of(DUE_ROWS.formatted(1));
  private static final One NEW = One.of(NEW_ROWS.formatted(1));

  private static final Several SEVERAL_DUE = new Several(DUE_ROWS);
  private static final Several SEVERAL_NEW = new Several(NEW_ROWS);

  // Those that this process let go a moment ago, on purpose: who held them is known.
  private static final String DUE_AGAIN =
      statement(
          """
          SELECT s.subscription_id, s.id, s.attempts, s.created_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, '0'::pg_catalog.xid AS held
            FROM pgonce.scheduled AS s
           WHERE s.subscription_id OPERATOR(pg_catalog.=) ? AND s.id OPERATOR(pg_catalog.=) ANY (?::pg_catalog.text::pg_catalog.int8[])
             AND s.attempts OPERATOR(pg_catalog.=) 0 AND s.token IS NULL AND (SELECT pgonce.may_begin_again(?))
           FOR UPDATE SKIP LOCKED
          """);
  private static final String NEW_AGAIN =
      statement(
          """
          SELECT n.subscription_id, n.id, 0 AS attempts, n.created_at, n.payload, n.delivery_key, n.order_key, n.context, n.stamp, NULL::pg_catalog.uuid AS token, '0'::pg_catalog.xid AS held
            FROM pgonce.notification AS n
           WHERE n.subscription_id OPERATOR(pg_catalog.=) ? AND n.id OPERATOR(pg_catalog.=) ANY (?::pg_catalog.text::pg_catalog.int8[])
             AND (SELECT pgonce.may_begin_again(?))
           FOR UPDATE SKIP LOCKED
          """);

  private static final String MAY_BEGIN_AGAIN = "SELECT pgonce.may_begin_again(?)";

  private static final String BY_KEY =
      """
      SELECT f.subscription_id, f.id, f.attempts, f.created_at, f.payload, f.delivery_key, f.order_key, f.context, f.stamp, f.token, f.held,
             f.seen, f.busy, f.walked
        FROM pgonce.%s(?, ?, %s) AS f
      """;
  private static final One DUE_IN_ORDER = byKey("next_due");
  private static final One NEW_IN_ORDER = byKey("next_new");
  private static final One DUE_AND_FREE = byKey("free_due");
  private static final One NEW_AND_FREE = byKey("free_new");

  private static final String LEASED_ROW =
      """
          SELECT s.subscription_id, s.id, s.attempts, s.created_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, s.xmax AS held
            FROM pgonce.scheduled AS s
           WHERE s.subscription_id OPERATOR(pg_catalog.=) ? AND s.id OPERATOR(pg_catalog.=) ?
             AND CASE WHEN s.token OPERATOR(pg_catalog.=) ?::pg_catalog.text::pg_catalog.uuid
                   THEN s.order_key IS NULL OR %s ELSE false END
             FOR UPDATE SKIP LOCKED
          """;
  private static final One LEASED =
      One.of(LEASED_ROW.formatted("pgonce.lock_key(s.subscription_id, s.order_key)"));
  private static final One LEASED_WITH_PLACE =
      One.of(LEASED_ROW.formatted("pgonce.lock_place(s.subscription_id, s.order_key, ?, s.id)"));

  /**
   * held is who locked the row before: nobody, or someone whose transaction did not commit. What is
   * of the session is a subselect of its own, computed once for all rows; where there is one row
   * only, it costs less without.
   *
   * <p>Times are passed as microseconds since 1970, which every driver reads the same. (A double
   * holds them to the microsecond until 2106.)
   */
  private static String statement(String locked) {
    return text("(SELECT " + OF_SESSION + "))", "", locked);
  }

  /**
   * The same for a row that is null where there is none: what is of the session would give its
   * transaction an id for nothing.
   */
  private static One byKey(String function) {
    var locked = BY_KEY.formatted(function, KeyLook.PARAMETERS);
    var one = "CASE WHEN c.id IS NOT NULL THEN " + OF_SESSION;
    var seen = ", c.seen, c.busy, c.walked";
    return new One(
        text(one + ") END", seen, locked),
        text(
                one + ", " + GuardedConnection.SESSION + ") END",
                seen + ", " + Origin.COLUMNS_OF_ROW,
                locked)
            + "; "
            + GuardedConnection.SET_SAVEPOINT);
  }

  private static String text(String session, String more, String locked) {
    return """
    SELECT c.id, c.attempts,
           (pg_catalog.date_part('epoch', c.created_at) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8,
           (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) c.created_at)
             OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8,
           CASE WHEN pg_catalog.octet_length(c.payload::pg_catalog.text) OPERATOR(pg_catalog.<=) %d
             THEN c.payload::pg_catalog.text END,
           pg_catalog.octet_length(c.payload::pg_catalog.text),
           %s,
           c.delivery_key, c.context, c.stamp, c.token,
           c.held OPERATOR(pg_catalog.<>) '0'::pg_catalog.xid, c.subscription_id, c.order_key%s
      FROM (%s) AS c
    """
        .formatted(Payload.SHORT, session, more, locked);
  }

  /**
   * One that may be set up for its handler at once, where the driver can send several commands in
   * one message: that saves the handler's first statement a round trip.
   *
   * @param alone the claim
   * @param ready the same with what {@link GuardedConnection} would do before that statement
   */
  private record One(String alone, String ready) {

    static One of(String locked) {
      return new One(
          statement(locked),
          text(
                  OF_SESSION + ", " + GuardedConnection.SESSION + ")",
                  ", " + Origin.COLUMNS_OF_ROW,
                  locked)
              + "; "
              + GuardedConnection.SET_SAVEPOINT);
    }
  }

  /** For each number of rows one text, made once: at most as many as a batch may have. */
  private record Several(String locked, Map<Integer, String> texts) {

    Several(String locked) {
      this(locked, new ConcurrentHashMap<>());
    }

    String text(int most) {
      return texts.computeIfAbsent(most, count -> statement(locked.formatted(count)));
    }
  }

  private ClaimStatement() {}

  /** Sets the parameters behind those of every claim. */
  @FunctionalInterface
  private interface Parameters {
    void set(PreparedStatement statement) throws SQLException;

    /** What else stands in the first row. */
    default void read(ResultSet row) throws SQLException {}
  }

  /**
   * Claims one row, in a transaction that it begins.
   *
   * @param due whether it looks among the scheduled rows that are due, or among the new ones
   * @param after of new rows, those with a higher id: 0 for all
   * @param handlerTimeout how long its handler may take: the session may idle a little longer
   * @return null if there is none that nobody else holds; the transaction is open all the same
   */
  public static @Nullable Claim claim(
      Connection connection,
      PoolSettings.Taken taken,
      int subscription,
      boolean due,
      long after,
      Duration handlerTimeout)
      throws SQLException {
    return claim(
        connection,
        taken,
        due ? DUE : NEW,
        due,
        handlerTimeout,
        statement -> rows(statement, subscription, due, after));
  }

  /**
   * The same for several: those that nobody else holds, at most so many, in the order of their ids.
   */
  public static List<Claim> claimSeveral(
      Connection connection,
      PoolSettings.Taken taken,
      int subscription,
      boolean due,
      long after,
      int most,
      Duration handlerTimeout)
      throws SQLException {
    return claims(
        connection,
        taken,
        (due ? SEVERAL_DUE : SEVERAL_NEW).text(most),
        false,
        due,
        handlerTimeout,
        statement -> rows(statement, subscription, due, after));
  }

  /**
   * Claims once more what a claim of several had, in a transaction that it begins: those of them
   * that are there as they were and that nobody else holds. None if the channel has become
   * AT_MOST_ONCE meanwhile: the handler has begun.
   *
   * @param before at least one, never tried before
   */
  public static List<Claim> claimAgain(
      Connection connection, PoolSettings.Taken taken, List<Claim> before, Duration handlerTimeout)
      throws SQLException {
    var first = before.get(0);
    return claims(
        connection,
        taken,
        first.scheduled() ? DUE_AGAIN : NEW_AGAIN,
        false,
        first.scheduled(),
        handlerTimeout,
        statement -> {
          statement.setInt(3, first.subscription());
          statement.setString(4, Claim.ids(before));
          statement.setInt(5, first.subscription());
        });
  }

  /** Whether the handler of a claim, whose work is undone, may begin again in its transaction. */
  public static boolean mayBeginAgain(Connection transaction, Claim claim) throws SQLException {
    try (var statement = transaction.prepareStatement(MAY_BEGIN_AGAIN)) {
      statement.setInt(1, claim.subscription());
      try (var row = statement.executeQuery()) {
        return row.next() && row.getBoolean(1);
      }
    }
  }

  private static void rows(PreparedStatement statement, int subscription, boolean due, long after)
      throws SQLException {
    statement.setInt(3, subscription);
    if (!due) {
      statement.setLong(4, after);
    }
  }

  /**
   * The same where the rows of one key wait for one another. In an order the key is locked with the
   * row, and no other row of it is claimed by anyone before the transaction ends; under a limit, a
   * place of it.
   *
   * @param rules the channel's, which has an order or a limit per key
   */
  public static KeyLook.Result claimByKey(
      Connection connection,
      PoolSettings.Taken taken,
      int subscription,
      boolean due,
      ChannelOptions rules,
      KeyLook look,
      Duration handlerTimeout)
      throws SQLException {
    var limited = rules.order() == KeyOrder.NONE;
    var parameters = new ByKey(subscription, rules, look);
    var claim =
        claim(
            connection,
            taken,
            limited ? (due ? DUE_AND_FREE : NEW_AND_FREE) : (due ? DUE_IN_ORDER : NEW_IN_ORDER),
            due,
            handlerTimeout,
            parameters);
    return new KeyLook.Result(claim, parameters.seen);
  }

  private static final class ByKey implements Parameters {
    private final int subscription;
    private final ChannelOptions rules;
    private final KeyLook look;
    private KeyLook.@Nullable Seen seen;

    ByKey(int subscription, ChannelOptions rules, KeyLook look) {
      this.subscription = subscription;
      this.rules = rules;
      this.look = look;
    }

    @Override
    public void set(PreparedStatement statement) throws SQLException {
      statement.setInt(3, subscription);
      if (rules.order() == KeyOrder.NONE) {
        statement.setInt(4, rules.maxPerKey());
      } else {
        statement.setBoolean(4, rules.order() == KeyOrder.DEAD_LETTER_BLOCKS);
      }
      look.bind(statement, 5);
    }

    @Override
    public void read(ResultSet row) throws SQLException {
      seen = KeyLook.Seen.read(row, 15);
    }
  }

  /**
   * The same for a row that was leased with the token.
   *
   * @return null if it is not there with the token, or somebody holds it
   */
  public static @Nullable Claim claimLeased(
      Connection connection,
      PoolSettings.Taken taken,
      Claim before,
      String token,
      ChannelOptions rules,
      Duration handlerTimeout)
      throws SQLException {
    var limited = rules.maxPerKey() != ChannelOptions.NO_MAX_PER_KEY;
    return claim(
        connection,
        taken,
        limited ? LEASED_WITH_PLACE : LEASED,
        true,
        handlerTimeout,
        statement -> {
          statement.setInt(3, before.subscription());
          statement.setLong(4, before.id());
          statement.setString(5, token);
          if (limited) {
            statement.setInt(6, rules.maxPerKey());
          }
        });
  }

  private static @Nullable Claim claim(
      Connection connection,
      PoolSettings.Taken taken,
      One one,
      boolean scheduled,
      Duration handlerTimeout,
      Parameters parameters)
      throws SQLException {
    var isReady = taken.sendsSeveralAtOnce();
    var sql = isReady ? one.ready() : one.alone();
    var claims = claims(connection, taken, sql, isReady, scheduled, handlerTimeout, parameters);
    return claims.isEmpty() ? null : claims.get(0);
  }

  private static List<Claim> claims(
      Connection connection,
      PoolSettings.Taken taken,
      String sql,
      boolean isReady,
      boolean scheduled,
      Duration handlerTimeout,
      Parameters parameters)
      throws SQLException {
    taken.begin();
    try (var statement = connection.prepareStatement(taken.text(sql))) {
      ClaimHolder.bind(statement, 1, handlerTimeout);
      parameters.set(statement);
      statement.execute();
      try (var row = statement.getResultSet()) {
        var claims =
            read(
                connection,
                column -> !taken.mustBeginAgain(column),
                row,
                isReady,
                scheduled,
                parameters);
        if (claims != null) {
          return claims;
        }
      }
    } catch (SQLException e) {
      if (!taken.mustBeginAgain(e)) {
        throw e;
      }
    }
    connection.rollback();
    return claims(connection, taken, sql, isReady, scheduled, handlerTimeout, parameters);
  }

  /** Null if the transaction is not as needed. */
  private static @Nullable List<Claim> read(
      Connection connection,
      Predicate<String> isFit,
      ResultSet row,
      boolean isReady,
      boolean scheduled,
      Parameters parameters)
      throws SQLException {
    if (!row.next()) {
      return List.of();
    }
    parameters.read(row);
    row.getLong(1);
    if (row.wasNull()) {
      return List.of();
    }
    var session = row.getString(7).split(SEPARATOR, VALUES);
    return isFit.test(session[VALUES - 2])
        ? claimed(connection, row, isReady, scheduled, session)
        : null;
  }

  // What NextClaim needs: of one new row, ready for its handler.

  static String newAndReady() {
    return NEW.ready();
  }

  static void bindNew(
      PreparedStatement statement, int first, int subscription, long after, Duration handlerTimeout)
      throws SQLException {
    ClaimHolder.bind(statement, first, handlerTimeout);
    statement.setInt(first + 2, subscription);
    statement.setLong(first + 3, after);
  }

  /** As of {@link #read}; learns nothing of the data source, as a handler may be the reason. */
  static @Nullable List<Claim> readNew(Connection connection, ResultSet row) throws SQLException {
    return read(connection, PoolSettings.Taken::isFit, row, true, false, statement -> {});
  }

  private static List<Claim> claimed(
      Connection transaction, ResultSet row, boolean isReady, boolean scheduled, String[] session)
      throws SQLException {
    var holder = ClaimHolder.of(session, row.getLong(3) + row.getLong(4));
    var sessionBefore = isReady ? session[VALUES - 1] : null;
    var first = claim(transaction, row, scheduled, holder, sessionBefore);
    if (!row.next()) {
      return List.of(first);
    }
    var claims = new ArrayList<Claim>();
    claims.add(first);
    do {
      claims.add(claim(transaction, row, scheduled, holder, sessionBefore));
    } while (row.next());
    claims.sort(Comparator.comparingLong(Claim::id));
    return claims;
  }

  private static Claim claim(
      Connection transaction,
      ResultSet row,
      boolean scheduled,
      ClaimHolder holder,
      @Nullable String sessionBefore)
      throws SQLException {
    var subscription = row.getInt(13);
    var id = row.getLong(1);
    var createdUs = row.getLong(3);
    var ageUs = row.getLong(4);
    var payload = row.getString(5);
    var token = row.getString(11);
    return new Claim(
        subscription,
        id,
        scheduled,
        row.getInt(2),
        token,
        createdUs,
        ageUs,
        payload == null
            ? new Payload.Stored(
                work -> work.on(transaction), subscription, id, scheduled, row.getInt(6))
            : new Payload.Fetched(payload),
        Origin.stamped(row.getString(8), row.getString(14), row.getString(9), row.getInt(10)),
        token != null || row.getBoolean(12),
        holder,
        sessionBefore);
  }
}
