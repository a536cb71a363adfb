package org.pgonce.example.run;

import java.sql.SQLException;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.Tx;
import org.pgonce.example.run.WelcomePosts.Author;
import org.pgonce.triggers.TriggerChannel;

/**
 * The same channel as {@link WelcomePosts} in BROADCAST: every process that is up hears of every
 * new author, and writes down that it did; nothing is stored for those that are down.
 */
public final class HeardAuthors {

  public static final TriggerChannel<Author> AUTHOR_ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().mode(Mode.BROADCAST).build();

  private HeardAuthors() {}

  /** Installs the channel, says who handles it, begins to listen; the caller closes pgonce. */
  public static PgOnce start(PgOnce pgonce, ListenOptions options) {
    pgonce.install(AUTHOR_ADDED);
    pgonce.listen(AUTHOR_ADDED, options, HeardAuthors::heard);
    return pgonce.start();
  }

  private static void heard(Notification<Author> added, Tx tx) throws SQLException {
    tx.update("insert into heard (author_id) values (?)", added.payload().id());
  }
}
