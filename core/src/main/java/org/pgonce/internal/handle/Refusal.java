package org.pgonce.internal.handle;

import java.sql.SQLException;
import org.pgonce.internal.claim.HandlerSavepoint;

/**
 * Something that a handler may not do on its connection.
 *
 * @param what the call or statement
 * @param why what it would break
 * @param instead what to do
 * @param endsTransaction whether the handler has failed even if it swallows the refusal: it goes on
 *     in the belief that it ended its transaction, or in settings that are not those it asked for
 */
record Refusal(String what, String why, String instead, boolean endsTransaction) {

  /** invalid_transaction_state. */
  static final String SQL_STATE = "25000";

  static final String IN_PLACE_OF_COPY =
      "in place of COPY use a batch, an INSERT of many rows or INSERT … SELECT FROM unnest(?), or a"
          + " connection of your own, outside of the handler's transaction";

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
        "it would outlive the handler's transaction, and the next user of the pooled connection"
            + " would run with it",
        instead,
        false);
  }

  static Refusal ofSharedSetting(String what) {
    return new Refusal(
        what,
        "the notifications of a batch share a transaction, and the setting would stay for those that"
            + " follow",
        "leave ListenOptions.batch at 1, or use Handler.batch, which runs one handler for the whole"
            + " list; until then each of them is handled in a transaction of its own",
        true);
  }

  static Refusal ofOwnSavepoint(String what) {
    return new Refusal(
        what,
        "the savepoint " + HandlerSavepoint.NAME + " is pgonce's own; it undoes a failed handler",
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
