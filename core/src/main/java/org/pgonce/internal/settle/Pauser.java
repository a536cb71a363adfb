package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;

/** Pauses a subscription for its handler. */
public interface Pauser {

  /** A handler asks for it: this process claims nothing more until {@link #ends}, at least. */
  void begins();

  /** Records it in the caller's transaction; no error if it is paused already. */
  void pause(Connection transaction, String reason) throws SQLException;

  /** It is committed, or has failed. */
  void ends();
}
