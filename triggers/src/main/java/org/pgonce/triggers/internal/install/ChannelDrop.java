package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnceException;
import org.pgonce.internal.store.Schema;
import org.pgonce.triggers.internal.definition.Quoted;

/** The channels' own rows, with what waits in them. */
final class ChannelDrop {

  private static final String EMPTY = "SELECT pgonce.empty_channels(%s)::text";
  private static final String DROP = "SELECT pgonce.drop_channels(%s, NULL, '%s'::bigint[])";
  private static final String STORE =
      "SELECT CAST(CAST('pgonce.notification' AS pg_catalog.regclass) AS bigint)";

  private ChannelDrop() {}

  /**
   * The long part, which keeps nobody waiting. How many rows it deleted of each channel, as an
   * array of PostgreSQL's; null if the schema is not there.
   */
  static @Nullable String empty(Connection transaction, List<String> channels) throws SQLException {
    return Schema.exists(transaction) ? text(transaction, EMPTY.formatted(array(channels))) : null;
  }

  /** The short part: no one stores anything meanwhile, in whichever channel. */
  static TableChange of(Connection transaction, List<String> channels, String emptied)
      throws SQLException {
    return new TableChange(
        DROP.formatted(array(channels), emptied),
        "drop " + (channels.size() == 1 ? "channel " : "channels ") + String.join(", ", channels),
        new TableChange.Target(Long.parseLong(text(transaction, STORE)), "pgonce.notification"),
        false,
        false,
        true);
  }

  /**
   * Both, with the tries and pauses of the database's own function.
   *
   * @throws PgOnceException if one has triggers again; roll back then
   */
  static void run(Connection transaction, List<String> channels) throws SQLException {
    var emptied = empty(transaction, channels);
    if (emptied != null) {
      requireNoTriggers(transaction, channels);
      text(transaction, DROP.formatted(array(channels), emptied));
    }
  }

  /**
   * One, if it holds no more than so many notifications.
   *
   * @throws PgOnceException if it holds more, or has triggers again; roll back then
   */
  static void run(Connection transaction, String channel, long atMost) throws SQLException {
    var names = List.of(channel);
    var emptied = empty(transaction, names);
    if (emptied != null) {
      requireNoMore(channel, Long.parseLong(emptied.substring(1, emptied.length() - 1)), atMost);
      requireNoTriggers(transaction, names);
      text(transaction, DROP.formatted(array(names), emptied));
    }
  }

  /**
   * An installation keeps the channel's row to its end, and so does a drop that has emptied the
   * channel: each sees here what the other has done, and nobody's triggers are left without a
   * channel.
   */
  private static void requireNoTriggers(Connection transaction, List<String> channels)
      throws SQLException {
    for (var channel : channels) {
      if (!Orphans.functions(transaction, channel).isEmpty()) {
        throw new PgOnceException(
            "pgonce does not drop channel %s: it was installed again after its triggers were dropped. It is kept, with all that waits in it%s. If it is to go all the same, stop whoever installs it, and drop it again"
                .formatted(
                    channel,
                    channels.size() == 1
                        ? ""
                        : ", and so are those that were to be dropped together with it"));
      }
    }
  }

  static void requireNoMore(String channel, long held, long atMost) {
    if (held > atMost) {
      throw new PgOnceException(
          "pgonce does not drop channel %s: it holds %d notifications, dead letters included, and was said to hold %d. None was deleted. Look again"
              .formatted(channel, held, atMost));
    }
  }

  private static String array(List<String> channels) {
    return channels.stream()
        .map(Quoted::literal)
        .collect(Collectors.joining(", ", "ARRAY[", "]::text[]"));
  }

  private static String text(Connection transaction, String sql) throws SQLException {
    try (var statement = transaction.createStatement();
        var row = statement.executeQuery(sql)) {
      row.next();
      return row.getString(1);
    }
  }
}
