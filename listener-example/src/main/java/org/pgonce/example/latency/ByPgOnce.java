package org.pgonce.example.latency;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.util.function.LongConsumer;
import org.pgonce.PgOnce;
import org.pgonce.example.DatabaseAddress;
import org.pgonce.example.WelcomePosts;

/** pgonce with its defaults. */
final class ByPgOnce extends Contender {

  private static final String INSERT = "insert into author (id, name) values (?, 'Author')";
  private static final String HANDLE = "insert into post (author_id, content) values (?, ?)";

  private final HikariDataSource pool;
  private final PgOnce pgonce;

  ByPgOnce(DatabaseAddress address, LongConsumer handler) throws SQLException {
    super(address, INSERT);
    pool = address.pool("pgonce", 6);
    pgonce = PgOnce.using(pool);
    pgonce.install(WelcomePosts.AUTHOR_ADDED);
    pgonce.listen(
        WelcomePosts.AUTHOR_ADDED,
        (added, tx) -> {
          var author = added.payload();
          handler.accept(author.id());
          tx.update(HANDLE, author.id(), "Welcome, " + author.name() + "!");
        });
    pgonce.start();
  }

  @Override
  public void close() throws SQLException {
    pgonce.close();
    pool.close();
    super.close();
  }
}
