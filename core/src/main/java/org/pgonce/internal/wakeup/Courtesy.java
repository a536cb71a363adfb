package org.pgonce.internal.wakeup;

import java.sql.SQLException;
import org.slf4j.Logger;

/**
 * What a connection that closes still says, though its thread is interrupted, as at the end it is.
 */
final class Courtesy {

  private Courtesy() {}

  /** Statements that may be run twice, within a bound of their own. */
  interface Words {
    void say() throws SQLException;
  }

  /** Says them, and once more if that was interrupted. The thread is as interrupted as before. */
  static void say(Words words, Logger log) {
    var interrupted = Thread.interrupted();
    try {
      try {
        words.say();
      } catch (SQLException e) {
        if (!Thread.interrupted()) {
          throw e;
        }
        interrupted = true;
        words.say();
      }
    } catch (SQLException e) {
      log.debug("could not UNLISTEN through the pooler: {}", e.toString());
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
