package org.pgonce.example;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.pgonce.PgOnce;
import org.pgonce.testkit.TestServer;
import org.pgonce.triggers.TriggerChannel;

/**
 * A service that writes a first post for each new author. It runs on an embedded PostgreSQL, or on
 * the database whose JDBC URL is given. The README quotes what stands between the two tags.
 */
public final class Quickstart {

  // tag::readme[]
  record Author(long id, String name) {}

  // Its name is author_inserted.
  static final TriggerChannel<Author> AUTHOR_ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  static PgOnce serve(DataSource dataSource) {
    var pgonce = PgOnce.using(dataSource);
    pgonce.install(AUTHOR_ADDED); // idempotent; or print it as a migration
    pgonce.listen( // once for each row, in whichever instance gets it
        AUTHOR_ADDED,
        (added, tx) ->
            tx.update(
                "insert into post (author_id, content) values (?, ?)",
                added.payload().id(),
                "Welcome, " + added.payload().name() + "!"));
    return pgonce.start(); // in the background; awaitStopped() waits, and stops on SIGTERM
  }

  // end::readme[]

  private static final String TABLES =
      """
      create table if not exists author (id bigint generated always as identity primary key, name text not null);
      create table if not exists post (author_id bigint not null references author, content text not null)
      """;
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private Quickstart() {}

  /**
   * Inserts an author and shows the post.
   *
   * @param arguments a JDBC URL with the login of a role that may install; none: embedded
   */
  public static void main(String[] arguments) throws Exception {
    System.setProperty("io.netty.noUnsafe", "true"); // else JDK 24 and later warn
    if (arguments.length > 0) {
      run(arguments[0]);
      return;
    }
    try (var server = TestServer.startEmbedded(Map.of())) {
      run(server.jdbcUrl() + "?user=" + server.user() + "&password=" + server.password());
    }
  }

  private static void run(String url) throws Exception {
    try (var pool = new HikariDataSource()) {
      pool.setJdbcUrl(url);
      number(pool, TABLES);
      try (var pgonce = serve(pool)) {
        var ada = number(pool, "insert into author (name) values ('Ada') returning id");
        var end = System.nanoTime() + PATIENCE.toNanos();
        while (number(pool, "select count(*) from post where author_id = " + ada) == 0) {
          if (System.nanoTime() > end) {
            throw new IllegalStateException("no post after " + PATIENCE + ": " + pgonce.status());
          }
          TimeUnit.MILLISECONDS.sleep(10);
        }
        System.out.println("Ada has her first post");
      }
    }
  }

  /** The first column of the first row; 0 if there is none. */
  private static long number(DataSource dataSource, String sql) throws SQLException {
    try (var connection = dataSource.getConnection();
        var statement = connection.createStatement()) {
      if (!statement.execute(sql)) {
        return 0;
      }
      var row = statement.getResultSet();
      return row.next() ? row.getLong(1) : 0;
    }
  }
}
