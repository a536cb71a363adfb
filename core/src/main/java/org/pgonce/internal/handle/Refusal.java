package org.pgonce.internal.handle;

import java.sql.SQLException;

/**
 * Why a handler may not do something on its connection.
 *
 * @param endsTransaction whether the handler has failed even if it swallows the refusal: it goes on
 *     in the belief that it ended its transaction, or in settings that are not those it asked for
 */
record Refusal(String why, String instead, boolean endsTransaction) {

  /** invalid_transaction_state. */
  static final String SQL_STATE = "25000";

  static final Refusal TRANSACTION_END =
      new Refusal(
          "pgonce ends the transaction itself when the handler has returned, together with the"
              + " deletion of the notification; ended before, the handler's work and the"
              + " notification could part",
          "to have all undone and tried again, throw; to undo a part, use a savepoint of your own",
          true);

  static final Refusal COPY =
      new Refusal(
          "from STDIN or to STDOUT the drivers cannot run it as a statement, and while it is open"
              + " every other call on the connection waits for its end",
          "use a batch, an INSERT of many rows or INSERT … SELECT FROM unnest(?); or COPY on a"
              + " connection of your own, outside of the handler's transaction",
          true);

  static final Refusal UNWRAP =
      new Refusal(
          "it would hand out the connection without its guard",
          "use the JDBC interfaces; in place of COPY, INSERT … SELECT FROM unnest(?)",
          false);

  static final Refusal SHARED_SETTING =
      new Refusal(
          "the notifications of a batch share a transaction, and the setting would stay for those"
              + " that follow",
          "leave ListenOptions.batch at 1, or use Handler.batch, which runs one handler for the"
              + " whole list; until then each of them is handled in a transaction of its own",
          true);

  static Refusal outlives(String instead) {
    return new Refusal(
        "it would outlive the handler's transaction, and the next user of the pooled connection"
            + " would run with it",
        instead,
        false);
  }

  SQLException exception(String what, Object notification) {
    return new SQLException(
        "%s is refused in the handler of %s: %s. Instead: %s."
            .formatted(what, notification, why, instead),
        SQL_STATE);
  }
}
