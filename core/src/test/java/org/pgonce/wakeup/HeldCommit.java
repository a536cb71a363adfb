package org.pgonce.wakeup;

import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.testkit.TestDatabase;

/**
 * Holds up, within the server, the commit of whoever has written to table {@code effect}: by a
 * constraint that is checked when all its statements are done, and waits for a lock.
 */
public final class HeldCommit implements AutoCloseable {

  private static final Duration BOUND = Duration.ofSeconds(45);

  private static final String HOLD =
      """
      create or replace function held() returns trigger language plpgsql as $$
      begin
        perform pg_advisory_xact_lock_shared(4711);
        return null;
      end $$;
      create constraint trigger held after insert on effect deferrable initially deferred for each row execute function held();
      """;

  private final TestDatabase database;
  private final Connection holder;

  public HeldCommit(TestDatabase database) throws SQLException {
    this.database = database;
    database.execute(HOLD);
    holder = database.dataSource().getConnection();
    execute("select pg_advisory_lock(4711)");
  }

  private void execute(String sql) throws SQLException {
    try (var statement = holder.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Returns when somebody's commit is held up: the process id of his session. */
  public int awaitSomebody() {
    await("somebody's commit").atMost(BOUND).until(() -> held() > 0);
    try {
      return held();
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private int held() throws SQLException {
    return (int)
        database.queryLong(
            """
            select coalesce(min(l.pid), 0) from pg_locks l
             where l.locktype = 'advisory' and l.objid = 4711 and not l.granted
               and l.database = (select d.oid from pg_database d where d.datname = current_database())
            """);
  }

  /**
   * Ends the session whose commit is held up, which is undone by that. The server may have done so:
   * it looks after clients that are gone.
   */
  public void end(int session) throws SQLException {
    database.queryLong("select pg_terminate_backend(%d)::int".formatted(session));
    await("the end of a session").atMost(BOUND).until(() -> held() != session);
  }

  /** From now on all commit at once. */
  public void release() throws SQLException {
    execute("select pg_advisory_unlock(4711)");
  }

  @Override
  public void close() throws SQLException {
    holder.close();
  }
}
