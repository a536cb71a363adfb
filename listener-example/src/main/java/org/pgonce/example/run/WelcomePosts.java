package org.pgonce.example.run;

import java.sql.SQLException;
import org.pgonce.ListenOptions;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.Tx;
import org.pgonce.triggers.TriggerChannel;

/**
 * Every new row of table {@code author} gets exactly one first post, however many processes run
 * this and whichever of them die. This file is all that an application needs.
 */
public final class WelcomePosts {

  /** The columns of the table that the handler needs. */
  public record Author(long id, String name) {}

  /** Fed by a trigger on the table, in the transaction that inserts the row. */
  public static final TriggerChannel<Author> AUTHOR_ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  private WelcomePosts() {}

  /** Installs the channel, says who handles it, begins to listen; the caller closes pgonce. */
  public static PgOnce start(PgOnce pgonce, ListenOptions options) {
    pgonce.install(AUTHOR_ADDED);
    pgonce.listen(AUTHOR_ADDED, options, WelcomePosts::welcome);
    return pgonce.start();
  }

  /** The post and the end of the notification are one transaction: both happen, or neither. */
  private static void welcome(Notification<Author> added, Tx tx) throws SQLException {
    var author = added.payload();
    tx.update(
        "insert into post (author_id, content) values (?, ?)",
        author.id(),
        "Welcome, " + author.name() + "!");
  }
}
