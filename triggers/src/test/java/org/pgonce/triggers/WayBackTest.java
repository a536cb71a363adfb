package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.SQLException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The way back of a migration loses nothing that waits. */
@PgTest
class WayBackTest {

  record Author(long id, String name) {}

  private static final TriggerChannel<Author> ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  @TempDir Path directory;
  private MigrationScene scene;

  @BeforeEach
  void scene(TestDatabase database) throws SQLException {
    scene = MigrationScene.of(database, directory);
    scene.execute("create table author (id bigint not null, name text)");
  }

  @Test
  void h83_aSubscriptionThatCameIsNotDroppedWhileSomethingWaitsInIt(TestDatabase database)
      throws Exception {
    var channel = Channel.of("published", String.class);
    var changed =
        Channel.of(
            "published",
            String.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withSubscriptions("default", "audit"));
    PgOnce.using(database.dataSource()).install(channel);
    var before = scene.state();
    Migration migration;
    try (var connection = database.dataSource().getConnection()) {
      migration = Triggers.migration(connection, changed);
    }
    scene.execute(migration.up());
    database.execute("select pgonce.publish('published', '1')");

    assertThatThrownBy(() -> scene.execute(migration.down()))
        .hasMessageContaining("subscription \"audit\" still holds notifications: 1 waiting")
        .hasMessageContaining("SELECT pgonce.drop_subscription('published', 'audit');");
    database.execute("select pgonce.drop_subscription('published', 'audit')");
    scene.execute(migration.down());
    assertThat(scene.state()).isEqualTo(before);
  }

  @Test
  void h83_theWayBackRefusesToLoseWhatWaits(TestDatabase database) throws Exception {
    database.execute(PgOnce.migration());
    var migration = Migration.of(ADDED);
    scene.execute(migration.up());
    database.execute("insert into author values (1, 'Ann'), (2, 'Bob')");

    var drop =
        "BEGIN; DROP FUNCTION pgonce_triggers.capture_author_inserted() CASCADE; SELECT pgonce.drop_channel('author_inserted'); COMMIT;";
    assertThatThrownBy(() -> scene.execute(migration.down()))
        .hasMessageContaining("channel \"author_inserted\" still holds notifications: 2 waiting")
        .hasMessageContaining("SELECT pgonce.drop_channel('author_inserted');");
    scene.assertCaptures(ADDED);
    assertThatThrownBy(() -> scene.execute(Migration.ofSchema().down()))
        .hasMessageContaining("still holds notifications: 3 waiting");

    assertThatThrownBy(() -> scene.execute("SELECT pgonce.drop_channel('author_inserted')"))
        .hasMessageContaining(drop);
    scene.execute(drop);
    scene.execute(migration.down());
    assertThat(database.queryLong("select count(*) from pg_trigger where not tgisinternal"))
        .isZero();
  }
}
