package org.pgonce.spring.internal;

import java.util.List;
import org.pgonce.Tx;

/** Something of Spring's that is made to work on a handler's transaction: JDBC, JPA. */
@FunctionalInterface
interface JoinedResource {

  /** Binds it to this thread: what it consists of. */
  List<Bound> bind(Tx tx);

  /** Bound for one run of a handler. */
  interface Bound {

    /** Whether a part of the handler's work has asked for a rollback. */
    boolean isRollbackOnly();

    /** Whether it has to hear how the transaction ends. */
    boolean isUsed();

    /** Sends what it has kept back. */
    void flush();

    /** Takes it from the thread. */
    void unbind();

    /** The transaction has ended, and its connection is the handler's no more. */
    void completed(Tx.Outcome outcome);
  }
}
