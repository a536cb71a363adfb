package org.pgonce.internal.deliver;

import java.sql.SQLException;

/**
 * Something that a handler may not do on its connection.
 *
 * @param what the call or statement
 * @param why what it would break
 * @param instead what to do
 * @param endsTransaction whether the handler meant to end its transaction: it then goes on in the
 *     belief that its work is committed or undone, so it has failed even if it swallows the refusal
 */
record Refusal(String what, String why, String instead, boolean endsTransaction) {

  /** invalid_transaction_state. */
  static final String SQL_STATE = "25000";

  static Refusal ofTransactionEnd(String what) {
    return new Refusal(
        what,
        "pgonce ends the transaction itself when the handler has returned, together with the"
            + " deletion of the notification; ended before, the handler's work and the notification"
            + " could part",
        "to have all undone and tried again, throw; to undo a part, use a savepoint of your own",
        true);
  }

  static Refusal ofSessionChange(String what, String instead) {
    return new Refusal(
        what,
        "it would outlive the handler's transaction, and whoever is handed the pooled connection"
            + " next would run with it",
        instead,
        false);
  }

  static Refusal ofOwnSavepoint(String what) {
    return new Refusal(
        what,
        "the savepoint " + HandlerScope.SAVEPOINT + " is pgonce's own; it undoes a failed handler",
        "use another name",
        true);
  }

  SQLException exception(Object notification) {
    return new SQLException(
        "%s is refused in the handler of %s: %s. Instead: %s."
            .formatted(what, notification, why, instead),
        SQL_STATE);
  }
}
