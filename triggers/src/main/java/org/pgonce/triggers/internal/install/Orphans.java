package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnceException;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.Schema;
import org.pgonce.triggers.Orphan;
import org.pgonce.triggers.internal.definition.Quoted;

/** What definitions have left behind in the database. */
public final class Orphans {

  // What a name alone does not prove: pgonce made it, and it is its.
  private static final String COMMENT = "pgonce: trigger after ";

  private static final String NAMES =
      """
      SELECT c.name FROM pgonce.channel c
      UNION
      SELECT pg_catalog.substr(p.proname, 9) FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
       WHERE n.nspname = 'pgonce_triggers' AND pg_catalog.starts_with(p.proname, 'capture_') AND p.pronargs = 0
       ORDER BY 1
      """;

  private static final String CHANNEL =
      """
      SELECT c.feed, coalesce(sum(s.backlog), 0), coalesce(sum(s.scheduled), 0), coalesce(sum(s.dead_letters), 0)
        FROM pgonce.channel c LEFT JOIN pgonce.channel_status s ON s.channel = c.name WHERE c.name = ? GROUP BY c.id
      """;

  private Orphans() {}

  /** Of all channels but those. */
  public static List<Orphan> of(Connection connection, Set<String> defined) throws SQLException {
    if (!Schema.exists(connection)) {
      return List.of();
    }
    var orphans = new ArrayList<Orphan>();
    for (var name : Statements.rows(connection, NAMES, row -> row.getString(1))) {
      var orphan = defined.contains(name) ? null : find(connection, name);
      if (orphan != null) {
        orphans.add(orphan);
      }
    }
    return orphans;
  }

  /** Null if there is nothing of such a channel. */
  private static @Nullable Orphan find(Connection connection, String channel) throws SQLException {
    var function = function(connection, channel);
    var triggers = new ArrayList<String>();
    if (function != null) {
      for (var trigger : InstalledTrigger.of(connection, function)) {
        triggers.add(Quoted.identifier(trigger.name()) + " on " + trigger.table());
      }
    }
    var names = function == null ? List.<String>of() : List.of(function.sqlName());
    return Statements.rows(
            connection,
            CHANNEL,
            row ->
                new Orphan(
                    channel,
                    row.getString(1),
                    names,
                    triggers,
                    row.getLong(2),
                    row.getLong(3),
                    row.getLong(4)),
            channel)
        .stream()
        .findFirst()
        .orElse(names.isEmpty() ? null : new Orphan(channel, "", names, triggers, 0, 0, 0));
  }

  /** The channel's, if pgonce made it. */
  private static @Nullable InstalledFunction function(Connection connection, String channel)
      throws SQLException {
    var function = ChannelDrop.function(connection, channel);
    return function == null || !function.comment().startsWith(COMMENT) ? null : function;
  }

  /** The triggers of one, in a transaction of its own; {@link #dropChannel} is to follow. */
  public static void dropTriggers(Connection transaction, Orphan orphan) throws SQLException {
    if (!Schema.exists(transaction)) {
      return;
    }
    Installer.lock(transaction, orphan.channel());
    requireUnchanged(find(transaction, orphan.channel()), orphan);
    var function = function(transaction, orphan.channel());
    if (function != null) {
      new BoundedLock(transaction)
          .run(ChannelDrop.dropping(transaction, orphan.channel(), function));
    }
  }

  /** The channel itself, in another transaction. */
  public static void dropChannel(Connection transaction, Orphan orphan) throws SQLException {
    if (orphan.isInstalled()) {
      ChannelDrop.channel(transaction, orphan.channel(), orphan.held());
    }
  }

  private static void requireUnchanged(@Nullable Orphan found, Orphan reported) {
    if (found == null || (found.feed().isEmpty() && reported.isInstalled())) {
      return; // somebody has dropped it, or has begun to
    }
    if (!found.feed().equals(reported.feed())) {
      throw new PgOnceException(
          "pgonce does not drop channel %s, nothing was changed: it was installed since it was looked at. Look again"
              .formatted(reported.channel()));
    }
    ChannelDrop.requireNoMore(reported.channel(), found.held(), reported.held());
  }
}
