package org.pgonce.benchmarks.work;

import java.sql.SQLException;

/** A contender whose pieces of work are rows of the table {@code work}. */
interface OnWorkTable extends Contender {

  WorkTable table();

  @Override
  default void store(long id) throws SQLException {
    table().insert(id);
  }

  @Override
  default void fill(long firstId, int count) throws SQLException {
    table().insert(firstId, count);
  }
}
