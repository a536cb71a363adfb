package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnceException;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.Schema;
import org.pgonce.triggers.internal.definition.Quoted;

/** Drops the functions and triggers of channels, and the channels with what waits in them. */
public final class ChannelDrop {

  private static final String EMPTY = "SELECT pgonce.empty_channels(%s)::text";
  private static final String DROP = "SELECT pgonce.drop_channels(%s, NULL, '%s'::bigint[])";
  private static final String STORE =
      "SELECT CAST(CAST('pgonce.notification' AS pg_catalog.regclass) AS bigint)";

  private ChannelDrop() {}

  /** Both in the caller's transaction, all channels or none. */
  public static void all(Connection transaction, List<String> channels) throws SQLException {
    var emptied = empty(transaction, channels);
    var changes = new ArrayList<TableChange>();
    for (var channel : channels) {
      changes.addAll(changes(transaction, channel));
    }
    if (emptied != null) {
      var target =
          new TableChange.Target(
              Statements.row(transaction, STORE, row -> row.getLong(1)), "pgonce.notification");
      var purpose =
          "drop " + (channels.size() == 1 ? "channel " : "channels ") + String.join(", ", channels);
      changes.add(
          new TableChange(
              DROP.formatted(Quoted.array(channels), emptied),
              new TableChange.Told(purpose, purpose, List.of()),
              target,
              false,
              false,
              true));
    }
    new BoundedLock(transaction).run(changes);
  }

  /** The functions, and with them every trigger that runs one. Does nothing if there is none. */
  public static void triggers(Connection transaction, String channel) throws SQLException {
    new BoundedLock(transaction).run(changes(transaction, channel));
  }

  private static List<TableChange> changes(Connection transaction, String channel)
      throws SQLException {
    if (InstalledFunction.of(transaction, channel, List.of()).isEmpty()) {
      return List.of();
    }
    Installer.lock(transaction, channel);
    return changes(transaction, channel, InstalledFunction.of(transaction, channel, List.of()));
  }

  /** These functions of the channel's. */
  static void functions(Connection transaction, String channel, List<InstalledFunction> functions)
      throws SQLException {
    new BoundedLock(transaction).run(changes(transaction, channel, functions));
  }

  private static List<TableChange> changes(
      Connection transaction, String channel, List<InstalledFunction> functions)
      throws SQLException {
    var changes = new ArrayList<TableChange>();
    for (var function : functions) {
      var triggers = InstalledTrigger.of(transaction, function);
      changes.add(TriggerSteps.dropping(channel, function, triggers));
    }
    return changes;
  }

  /**
   * Channels whose triggers are gone, with the tries and pauses of the database's own function.
   *
   * @throws PgOnceException if one has triggers again; roll back then
   */
  public static void channels(Connection transaction, List<String> channels) throws SQLException {
    var emptied = empty(transaction, channels);
    if (emptied != null) {
      drop(transaction, channels, emptied);
    }
  }

  /**
   * One of them, if it holds no more than so many notifications.
   *
   * @throws PgOnceException if it holds more, or has triggers again; roll back then
   */
  static void channel(Connection transaction, String channel, long atMost) throws SQLException {
    var emptied = empty(transaction, List.of(channel));
    if (emptied != null) {
      requireNoMore(channel, Long.parseLong(emptied.substring(1, emptied.length() - 1)), atMost);
      drop(transaction, List.of(channel), emptied);
    }
  }

  /**
   * The long part, which keeps nobody waiting. How many rows it deleted of each channel, as an
   * array of PostgreSQL's; null if the schema is not there.
   */
  private static @Nullable String empty(Connection transaction, List<String> channels)
      throws SQLException {
    return Schema.exists(transaction)
        ? Statements.row(
            transaction, EMPTY.formatted(Quoted.array(channels)), row -> row.getString(1))
        : null;
  }

  /**
   * The short part: no one stores anything meanwhile, in whichever channel. An installation keeps
   * the channel's row to its end, and so does a drop that has emptied the channel: each sees here
   * what the other has done, and no triggers are left without a channel.
   */
  private static void drop(Connection transaction, List<String> channels, String emptied)
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
    Statements.execute(transaction, DROP.formatted(Quoted.array(channels), emptied));
  }

  static void requireNoMore(String channel, long held, long atMost) {
    if (held > atMost) {
      throw new PgOnceException(
          "pgonce does not drop channel %s: it holds %d notifications, dead letters included, and was said to hold %d. None was deleted. Look again"
              .formatted(channel, held, atMost));
    }
  }
}
