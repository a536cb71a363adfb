package org.pgonce.benchmarks.work;

import java.sql.SQLException;
import java.util.function.LongConsumer;

/** A way at work, for one turn. Its methods are for one thread, and its workers are its own. */
public interface Contender extends AutoCloseable {

  /** Takes away all that earlier turns have left. Before the start. */
  void empty() throws Exception;

  /** Stores one piece of work in a transaction; returns when that is committed. */
  void store(long id) throws Exception;

  /** Stores many quickly; their time is not taken. */
  void fill(long firstId, int count) throws Exception;

  /** What is behind is written out before the time is taken, and the server knows the tables. */
  void settle() throws SQLException;

  /**
   * Begins to work. The handler of each piece writes one effect.
   *
   * @param handler is told each piece as its handler begins; safe for use by several threads
   */
  void start(LongConsumer handler) throws Exception;

  /** How many pieces are stored and not done. */
  default long left() throws SQLException {
    throw new UnsupportedOperationException("it does not tell");
  }

  /** Stops the workers. */
  @Override
  void close() throws SQLException;
}
