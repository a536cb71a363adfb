package org.pgonce.triggers;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.pgonce.Channel;
import org.pgonce.triggers.internal.install.ChannelMigration;
import org.pgonce.triggers.internal.migration.Rendered;
import org.pgonce.triggers.internal.migration.ToolProof;

/**
 * The way to a definition and the way back, as SQL for psql, Flyway and Liquibase. {@link #of} is
 * for a database that has none of the channels, {@link Triggers#migration} for one that may have an
 * earlier definition of them. Whoever runs it is a member of {@code pgonce_installer}, may create
 * triggers on the tables, and can act as the roles that the functions belong to: the tables'
 * owners, where who prints it can act as these. What drops a function or a channel, or changes a
 * mode, takes a member of {@code pgonce_owner}; so does each way back. It need not be a superuser,
 * but where {@link #ofSchema} creates the roles.
 *
 * <p>Both ways are what {@link Triggers#apply} runs, but for the waiting: a script cannot try
 * again. It waits for 1.5 s at most for the lock of a table, and where it has several for 0.8 s in
 * all (for 50 ms each from the sixteenth on), then it fails; run in one transaction, as tools do it
 * and as {@code psql -1 -v ON_ERROR_STOP=1} does, nothing was changed then. Run it again when the
 * table is free.
 *
 * <p>The way back loses nothing: it fails, and changes nothing, while something waits in what it
 * would drop, dead letters included. Its error says how many there are, and how to delete them on
 * purpose.
 *
 * <p>Neither script has anything that Flyway would replace ({@code ${name}}) or that Liquibase
 * would take for a command of its own, whatever the SQL of the definitions holds: such a text is
 * written as E'…'. That is so for the tools as they are by default; with other prefixes of
 * placeholders, switch their replacement off.
 *
 * @param up empty if there is nothing to do
 * @param down undoes it
 */
public record Migration(String up, String down) {

  public Migration {
    up = ToolProof.script(Objects.requireNonNull(up, "up"));
    down = ToolProof.script(Objects.requireNonNull(down, "down"));
  }

  /**
   * The schema {@code pgonce} itself, to come before all channels. Over an earlier version it
   * brings it up to date; the way back takes all of it away, in either case.
   */
  public static Migration ofSchema() {
    return ChannelMigration.ofSchema();
  }

  /**
   * Channels that are not in the database yet; those that code publishes to as well. A watched
   * table is taken for an ordinary one: for a partitioned one, ask {@link Triggers#migration}, or
   * give the channel {@link TriggerChannelBuilder#form form(TriggerForm.ROW)}.
   *
   * @throws IllegalArgumentException if two of them have the same name
   * @throws org.pgonce.PgOnceException if a function depends on the columns of its table
   */
  public static Migration of(Channel<?>... channels) {
    return ChannelMigration.fromNothing(ChannelMigration.inOneOrder(channels));
  }

  /**
   * This, and another after it. The way back begins with the other's. Channels that are to change
   * in one transaction come from one call of {@link #of} or {@link Triggers#migration}: behind
   * another migration, a lock of a table is waited for while the first one's locks are held.
   */
  public Migration then(Migration next) {
    Objects.requireNonNull(next, "next");
    return new Migration(up + next.up, next.down + down);
  }

  /** Whether there is nothing to do. */
  public boolean isEmpty() {
    return up.isEmpty();
  }

  /**
   * As files for Flyway, by their names: {@code V7__author_channels.sql} and, for the undo that
   * Flyway sells and psql runs as well, {@code U7__author_channels.sql}.
   *
   * @param version digits with dots or underscores between them
   * @param description letters and digits with blanks, underscores or hyphens between them
   * @throws IllegalArgumentException if they cannot be part of such a name
   * @throws IllegalStateException if there is nothing to do
   */
  public Map<String, String> flyway(String version, String description) {
    Objects.requireNonNull(version, "version");
    Objects.requireNonNull(description, "description");
    var files = new LinkedHashMap<String, String>();
    files.put(Rendered.flywayName('V', version, description), up);
    files.put(Rendered.flywayName('U', version, description), down);
    requireSomething();
    return Collections.unmodifiableMap(files);
  }

  /**
   * As a changelog for Liquibase, in its format for SQL: one changeset with its rollback.
   *
   * @param author who answers for it, as Liquibase remembers
   * @param id unique for this author in this changelog's path
   * @throws IllegalArgumentException if one of them has other characters than A to Z, a to z, 0 to
   *     9, _ . @ -
   * @throws IllegalStateException if there is nothing to do
   */
  public String liquibase(String author, String id) {
    var changelog =
        Rendered.liquibase(
            Objects.requireNonNull(author, "author"), Objects.requireNonNull(id, "id"), up, down);
    requireSomething();
    return changelog;
  }

  private void requireSomething() {
    if (isEmpty()) {
      throw new IllegalStateException(
          "there is nothing to do, and so nothing to print: ask isEmpty() before");
    }
  }
}
