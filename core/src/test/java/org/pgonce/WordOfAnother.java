package org.pgonce;

import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicLong;
import org.pgonce.testkit.TestDatabase;

/** What another listener of the orders says with the channel's word, and does nothing else. */
record WordOfAnother(TestDatabase database, AtomicLong word) {

  private static final String STEP =
      """
      select pgonce.%s from (select array_agg(s.id order by s.id) as ids
                               from pgonce.subscription s where s.of_channel = 'orders') s
      """;

  WordOfAnother(TestDatabase database) {
    this(database, new AtomicLong());
  }

  /** For half a second from now on; false if it may not. */
  boolean isAwake() throws SQLException {
    step("announce_awake('orders', s.ids)");
    step("stay_awake('orders', s.ids, %s, false)".formatted(word));
    return word.get() > 0;
  }

  private void step(String call) throws SQLException {
    word.set(database.queryLong(STEP.formatted(call)));
  }

  void stops() throws SQLException {
    database.execute("select pgonce.leave_word('orders', %s)".formatted(word));
  }
}
