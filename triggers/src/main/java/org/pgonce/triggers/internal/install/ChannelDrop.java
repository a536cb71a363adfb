package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnceException;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.Schema;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.Quoted;

/** Drops the function and the triggers of channels, and the channels. */
public final class ChannelDrop {

  private static final String LOCK = "SELECT pgonce.lock_channels(%s)::text";
  private static final String DROP = "SELECT pgonce.drop_channels(%s, NULL, '%s'::bigint[])";
  // Partitions have copies of a trigger.
  private static final String OF_SEVERAL =
      "SELECT count(DISTINCT t.tgrelid) > 1 FROM pg_catalog.pg_trigger t WHERE t.tgfoid = CAST(CAST(? AS bigint) AS oid)";
  private static final String STORE =
      "SELECT CAST(CAST('pgonce.notification' AS pg_catalog.regclass) AS bigint)";

  private ChannelDrop() {}

  /** Both in the caller's transaction, all channels or none. */
  public static void all(Connection transaction, List<String> channels) throws SQLException {
    var waiting = lock(transaction, channels);
    var changes = new ArrayList<TableChange>();
    for (var channel : channels) {
      changes.addAll(changes(transaction, channel));
    }
    if (waiting != null) {
      var target =
          new TableChange.Target(
              Statements.row(transaction, STORE, row -> row.getLong(1)), "pgonce.notification");
      var purpose =
          "drop " + (channels.size() == 1 ? "channel " : "channels ") + String.join(", ", channels);
      changes.add(
          new TableChange(
              DROP.formatted(Quoted.array(channels), waiting),
              new TableChange.Description(purpose, purpose, List.of()),
              target,
              false,
              false,
              true));
    }
    new BoundedLock(transaction).run(changes);
  }

  /** The function, and with it every trigger that runs it. Does nothing if there is none. */
  public static void triggers(Connection transaction, String channel) throws SQLException {
    new BoundedLock(transaction).run(changes(transaction, channel));
  }

  private static List<TableChange> changes(Connection transaction, String channel)
      throws SQLException {
    if (function(transaction, channel) == null) {
      return List.of();
    }
    Installer.lock(transaction, channel);
    var function = function(transaction, channel);
    return function == null ? List.of() : dropping(transaction, channel, function);
  }

  /** With every trigger that runs it, and the locks for that first. */
  static List<TableChange> dropping(
      Connection connection, String channel, InstalledFunction function) throws SQLException {
    var triggers = InstalledTrigger.of(connection, function);
    var purpose = "drop a trigger of channel " + channel;
    var description = new TableChange.Description(purpose, purpose, List.of());
    var target =
        triggers.isEmpty()
            ? new TableChange.Target(0, "none")
            : TableChange.Target.of(triggers.get(0));
    var ofSeveral =
        Statements.row(connection, OF_SEVERAL, row -> row.getBoolean(1), function.oid());
    return List.of(
        new TableChange(
            CaptureFunction.lockTables(channel), description, target, false, true, ofSeveral),
        new TableChange(CaptureFunction.drop(channel), description, target, true, true, ofSeveral));
  }

  /** The channel's own; null if there is none. */
  static @Nullable InstalledFunction function(Connection connection, String channel)
      throws SQLException {
    var function = InstalledFunction.find(connection, channel);
    return function == null || !function.mayStore() ? null : function;
  }

  /**
   * Channels whose triggers are gone, with the tries and pauses of the database's own function.
   *
   * @throws SQLException also if one has triggers again (SQLState 2BP01); roll back then
   */
  public static void channels(Connection transaction, List<String> channels) throws SQLException {
    var waiting = lock(transaction, channels);
    if (waiting != null) {
      Statements.execute(transaction, DROP.formatted(Quoted.array(channels), waiting));
    }
  }

  /**
   * One of them, if it holds no more than so many notifications.
   *
   * @throws PgOnceException if it holds more; roll back then
   * @throws SQLException also if it has triggers again (SQLState 2BP01); roll back then
   */
  static void channel(Connection transaction, String channel, long atMost) throws SQLException {
    var waiting = lock(transaction, List.of(channel));
    if (waiting != null) {
      requireNoMore(channel, Long.parseLong(waiting.substring(1, waiting.length() - 1)), atMost);
      Statements.execute(transaction, DROP.formatted(Quoted.array(List.of(channel)), waiting));
    }
  }

  /**
   * Locks the channels, as an installation does to its end: each sees what the other has done. How
   * many rows wait in each, as an array of PostgreSQL's; null if the schema is not there.
   */
  private static @Nullable String lock(Connection transaction, List<String> channels)
      throws SQLException {
    return Schema.exists(transaction)
        ? Statements.row(
            transaction, LOCK.formatted(Quoted.array(channels)), row -> row.getString(1))
        : null;
  }

  static void requireNoMore(String channel, long held, long atMost) {
    if (held > atMost) {
      throw new PgOnceException(
          "pgonce does not drop channel %s: it holds %d notifications, dead letters included, and was said to hold %d. None was deleted. Look again"
              .formatted(channel, held, atMost));
    }
  }
}
