package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.internal.jdbc.PoolSettings;

/**
 * The claim: one row, locked for the caller's transaction; rows that others hold are passed over.
 */
public final class ClaimStatement {

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
        due ? ClaimSql.DUE : ClaimSql.NEW,
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
        (due ? ClaimSql.SEVERAL_DUE : ClaimSql.SEVERAL_NEW).text(most),
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
        first.scheduled() ? ClaimSql.DUE_AGAIN : ClaimSql.NEW_AGAIN,
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
    try (var statement = transaction.prepareStatement(ClaimSql.MAY_BEGIN_AGAIN)) {
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
            limited
                ? (due ? ClaimSql.DUE_AND_FREE : ClaimSql.NEW_AND_FREE)
                : (due ? ClaimSql.DUE_IN_ORDER : ClaimSql.NEW_IN_ORDER),
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
        limited ? ClaimSql.LEASED_WITH_PLACE : ClaimSql.LEASED,
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
      ClaimSql.One one,
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
    var session = row.getString(7).split(ClaimSql.SEPARATOR, ClaimSql.VALUES);
    return isFit.test(session[ClaimSql.VALUES - 2])
        ? claimed(connection, row, isReady, scheduled, session)
        : null;
  }

  // What NextClaim needs: of one new row, ready for its handler.

  static String newAndReady() {
    return ClaimSql.NEW.ready();
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
    var sessionBefore = isReady ? session[ClaimSql.VALUES - 1] : null;
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
