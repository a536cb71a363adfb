package org.pgonce.spring.internal;

import org.pgonce.Tx;

/** Something of Spring's that is made to work on a handler's transaction: JDBC, JPA. */
@FunctionalInterface
interface JoinedResource {

  /** Binds it to this thread. If it throws, nothing is bound. */
  Bound bind(Tx tx);

  /** Bound for one run of a handler. */
  interface Bound {

    /** Whether a part of the handler's work has asked for a rollback. */
    default boolean isRollbackOnly() {
      return false;
    }

    /** Whether it has to hear how the transaction ends. */
    default boolean isUsed() {
      return false;
    }

    /** Sends what it has kept back. */
    default void flush() {}

    /** Takes it from the thread. */
    void unbind();

    /** The transaction has ended, and its connection is the handler's no more. */
    default void completed(Tx.Outcome outcome) {}
  }
}
