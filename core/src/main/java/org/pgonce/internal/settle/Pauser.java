package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;

/** Pauses a subscription for its handler. */
public interface Pauser {

  /** A handler asks for a pause: this process claims nothing more, at least until {@link #ends}. */
  void begins();

  /** Records the pause in the caller's transaction; no error if there is one already. */
  void pause(Connection transaction, String reason) throws SQLException;

  /** The pause is committed, or could not be recorded. */
  void ends();
}
