package org.pgonce.internal.deliver;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.pgonce.internal.jdbc.PgjdbcNg;
import org.postgresql.PGConnection;
import org.postgresql.jdbc.PreferQueryMode;

/**
 * Commands that a driver sends in one message, all of them constants of this library. They are
 * joined once: a driver looks its statements up by their text, whose hash a new string would have
 * to compute again.
 */
record Message(String before, String statement, String behind) {

  private static final Map<Message, String> TEXTS = new ConcurrentHashMap<>();

  /**
   * Whether a commit may stand behind others in a message: only where the first one that fails is
   * the last one that the server heeds. pgjdbc-ng prepares one command at a time, and pgjdbc in its
   * mode SIMPLE sends each by itself: the server would end the transaction, and let go of the row,
   * behind a command that has failed.
   */
  static boolean endsAtAnError(Connection connection) throws SQLException {
    return !PgjdbcNg.made(connection)
        && !(connection.isWrapperFor(PGConnection.class)
            && connection.unwrap(PGConnection.class).getPreferQueryMode()
                == PreferQueryMode.SIMPLE);
  }

  /** The text of them, without those that are empty; as constants there are not many. */
  static String of(String before, String statement, String behind) {
    return TEXTS.computeIfAbsent(
        new Message(before, statement, behind),
        parts ->
            Stream.of(parts.before(), parts.statement(), parts.behind())
                .filter(part -> !part.isEmpty())
                .collect(Collectors.joining("; ")));
  }
}
