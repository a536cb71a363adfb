package org.pgonce.internal;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.WordStatements;
import org.pgonce.internal.claim.WordStatements.Lingering;
import org.pgonce.internal.claim.WordStatements.Owed;
import org.pgonce.internal.jdbc.Transactions;

/**
 * The word of a channel, as this process reads and sets it: each a transaction of its own.
 *
 * @param listened the ids of the subscriptions that this process listens for, in their order
 */
record ChannelWord(Transactions transactions, String channel, List<Integer> listened) {

  /** What {@link Transactions} can hand back. */
  private record Answer<T>(@Nullable T given) {}

  /** Whether somebody waits until it may commit with a NOTIFY; null if it is of no use. */
  @Nullable Boolean doWritersWait() throws SQLException {
    return transactions
        .run(
            transaction ->
                new Answer<>(WordStatements.doWritersWait(transaction, channel, listened)))
        .given();
  }

  /** {@link WordStatements#TAKEN} if it is another's; null if this process may not have it. */
  @Nullable Long announceAwake() throws SQLException {
    return transactions
        .run(
            transaction ->
                new Answer<>(WordStatements.announceAwake(transaction, channel, listened)))
        .given();
  }

  /** Null if it is not this process's any more. */
  @Nullable Long stayAwake(long mine, boolean asks) throws SQLException {
    return transactions
        .run(
            transaction ->
                new Answer<>(WordStatements.stayAwake(transaction, channel, listened, mine, asks)))
        .given();
  }

  Owed fallAsleep(long mine, boolean calls) throws SQLException {
    return transactions.run(
        transaction -> WordStatements.fallAsleep(transaction, channel, mine, calls));
  }

  Lingering linger(Owed owed, int left, boolean calls) throws SQLException {
    return transactions.run(
        transaction -> WordStatements.linger(transaction, channel, owed, left, calls));
  }

  void asleep(long mine) throws SQLException {
    transactions.make(transaction -> WordStatements.asleep(transaction, channel, mine));
  }

  void leave(long mine) throws SQLException {
    transactions.make(transaction -> WordStatements.leave(transaction, channel, mine));
  }

  /** Whoever's it is; 0 if nobody is awake, nor owes anything. */
  WordStatements.Word read() throws SQLException {
    return transactions.run(
        transaction -> {
          var word = WordStatements.word(transaction, channel);
          return word == null ? new WordStatements.Word(0, false) : word;
        });
  }
}
