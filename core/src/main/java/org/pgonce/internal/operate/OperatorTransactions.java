package org.pgonce.internal.operate;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Objects;
import org.pgonce.Channel;
import org.pgonce.PgOnceException;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.Transactions;

/** Transactions that say who does what is done in them. Immutable. */
public final class OperatorTransactions {

  private static final int LONGEST_NAME = 200;
  private static final int LONGEST_REASON = 2_000;

  // Until the end of the transaction. pgonce_private.operator_name reads it.
  private static final String NAME_OPERATOR =
      "SELECT pg_catalog.set_config('pgonce.operator', ?, true)";

  private final Transactions transactions;
  private final String operator;

  public OperatorTransactions(Transactions transactions, String operator) {
    this.transactions = transactions;
    this.operator = operator;
  }

  /**
   * The same for another operator.
   *
   * @throws IllegalArgumentException if the name is blank, longer than 200 characters, or no text
   */
  public OperatorTransactions by(String person) {
    return new OperatorTransactions(transactions, requireText("person", person, LONGEST_NAME));
  }

  /** Returns the reason, or throws an IllegalArgumentException that says what is wrong with it. */
  public static String requireReason(String reason) {
    return requireText("reason", reason, LONGEST_REASON);
  }

  private static String requireText(String what, String text, int longest) {
    Objects.requireNonNull(text, what);
    if (text.isBlank() || text.length() > longest) {
      throw new IllegalArgumentException(
          "%s of %d characters: 1 to %,d, not blank".formatted(what, text.length(), longest));
    }
    if (text.codePoints().anyMatch(c -> c == 0 || Character.getType(c) == Character.SURROGATE)) {
      throw new IllegalArgumentException(
          what + " with a NUL or a lone surrogate, which PostgreSQL cannot store: leave it out");
    }
    return text;
  }

  /** Says who does what follows in the transaction. */
  public static void nameOperator(Connection transaction, String name) throws SQLException {
    try (var statement = transaction.prepareStatement(NAME_OPERATOR)) {
      statement.setString(1, name);
      statement.execute();
    }
  }

  /**
   * Runs the work in a transaction and commits it.
   *
   * @param what for the message if that fails, as in «cannot pause»
   * @throws PgOnceException if the database refuses or cannot be reached
   */
  public <R> R run(String what, Channel<?> channel, Transactions.Work<R> work) {
    return run(what + " channel " + channel.name(), work);
  }

  /**
   * The same for what is not about a channel.
   *
   * @param what for the message if that fails, as in «cannot adopt the database»
   */
  public <R> R run(String what, Transactions.Work<R> work) {
    try {
      return transactions.runBounded(
          transaction -> {
            nameOperator(transaction, operator);
            return work.on(transaction);
          });
    } catch (SQLException e) {
      throw new PgOnceException("pgonce cannot " + what + ": " + Failures.withHint(e), e);
    }
  }
}
