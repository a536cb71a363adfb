package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.Template;

/**
 * A channel's function as the database has it.
 *
 * @param sqlName as SQL names it
 * @param definer whether it runs with its owner's rights
 * @param settings as name=value
 * @param comment empty if it has none
 * @param mayTrigger whether its owner may put triggers on the tables that have one
 * @param mayStore whether its owner may store into the channel, where that is there; any role that
 *     may install can make a function of such a name
 * @param lacking what its owner may not, and has to, so that it stores into the channel
 * @param grantees who but its owner may execute it, and so attach it to a table
 */
public record InstalledFunction(
    long oid,
    String sqlName,
    String owner,
    boolean definer,
    Set<String> settings,
    String body,
    String comment,
    boolean mayTrigger,
    boolean mayStore,
    Set<String> lacking,
    Set<String> grantees) {

  private static final String FIND = Template.text("installed_function.sql");

  /** That of a channel, whoever made it; null if there is none. */
  static @Nullable InstalledFunction find(Connection connection, String channel)
      throws SQLException {
    return Statements.rows(
            connection,
            FIND,
            row ->
                new InstalledFunction(
                    row.getLong(1),
                    CaptureFunction.nameOf(channel),
                    row.getString(2),
                    row.getBoolean(3),
                    lines(row.getString(4)),
                    row.getString(5),
                    row.getString(6),
                    row.getBoolean(7),
                    row.getBoolean(8),
                    lines(row.getString(9)),
                    lines(row.getString(10))),
            channel)
        .stream()
        .findFirst()
        .orElse(null);
  }

  private static Set<String> lines(@Nullable String text) {
    return text == null ? Set.of() : Set.of(text.split("\n", -1));
  }
}
