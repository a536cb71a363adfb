package org.pgonce.internal.settle;

import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Following;

/** What may follow a commit in its message. */
public interface Onward {

  /** Null where nothing is to. */
  @Nullable Following begin();

  /** The attempt has failed, whatever was begun: the connection's transaction is another one. */
  void failed();
}
