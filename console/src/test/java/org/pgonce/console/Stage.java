package org.pgonce.console;

import java.sql.SQLException;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.testkit.DatabaseContents;
import org.pgonce.testkit.TestDatabase;

/** A database with pgonce, and a channel. */
public final class Stage implements DatabaseContents {

  static final Channel<String> MAILS = Channel.of("mails", String.class);

  @Override
  public void make(TestDatabase database) {
    PgOnce.using(database.dataSource()).install(MAILS);
  }

  /** A copy would be taken for that of a database that is in use. */
  @Override
  public void copied(TestDatabase copy) throws SQLException {
    copy.execute("select pgonce_private.settle_here()");
  }

  static void publish(TestDatabase database, String payload) throws SQLException {
    database.execute("select pgonce.publish('mails', '" + payload.replace("'", "''") + "')");
  }

  /** Makes dead letters out of nothing. */
  static void bury(TestDatabase database, int count, String reason, String error)
      throws SQLException {
    database.execute(
        """
        insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload)
        select s.id, nextval('pgonce.notification_id'), 10, now(), '%s', '%s', '"x"' from pgonce.subscription s, generate_series(1, %d)
        """
            .formatted(reason, error.replace("'", "''"), count));
  }

  /** Makes a retry that waits for an hour. */
  static void retrying(TestDatabase database, String error) throws SQLException {
    database.execute(
        """
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, last_error, payload)
        select s.id, nextval('pgonce.notification_id'), now() + interval '1 hour', 3, now(), '%s', '"x"' from pgonce.subscription s
        """
            .formatted(error.replace("'", "''")));
  }
}
