package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/**
 * H78: the watched table is attached as a partition, or made to inherit, after the installation.
 */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class AttachedTableTest {

  private static final String ATTACH =
      "alter table author attach partition author_1 for values from (0) to (10)";
  private static final String INHERIT = "alter table author_1 inherit writer";

  private static final TriggerChannel<?> CHANGES = changes().build();

  @BeforeEach
  void tables(TestDatabase database) throws SQLException {
    database.execute(
        """
        create table author (id bigint not null, name text) partition by range (id);
        create table author_2 partition of author for values from (10) to (20);
        create table author_1 (id bigint not null, name text);
        create table writer (id bigint, name text)
        """);
  }

  private static TriggerChannelBuilder<?> changes() {
    return TriggerChannel.changesOf("author_1", JsonNode.class)
        .named("changes")
        .afterInsert()
        .afterUpdate()
        .afterDelete();
  }

  @ParameterizedTest
  @ValueSource(strings = {"author", "writer"})
  void h78_aTriggerPerStatementMissesWhatNamesTheOtherTableAndIsMendedByInstallingAgain(
      String other, TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(CHANGES);
    database.execute(other.equals("author") ? ATTACH : INHERIT);
    database.execute("insert into author_1 values (1, 'Ann')");
    database.execute("update %s set name = 'Anna'; delete from %1$s".formatted(other));
    assertThat(operations(database)).isEqualTo("INSERT");

    var relation =
        other.equals("author")
            ? "has become a partition of public.author"
            : "inherits from public.writer";
    assertThat(check(database, CHANGES))
        .singleElement()
        .asString()
        .startsWith("channel changes: table public.author_1 " + relation + " since")
        .endsWith("install the channel again, which makes them per row");
    assertThat(plan(database, CHANGES).warnings())
        .anyMatch(line -> line.contains(relation + " since it got its triggers"));
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.listen(CHANGES, (change, tx) -> {});
      assertThatThrownBy(pgonce::start)
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining(relation);
    }

    PgOnce.using(database.dataSource()).install(CHANGES);
    assertThat(check(database, CHANGES)).isEmpty();
    database.execute("delete from pgonce.notification where subscription_id > 0");
    database.execute("insert into author_1 values (1, 'Ann')");
    database.execute("update %s set name = 'Anna'; delete from %1$s".formatted(other));
    assertThat(operations(database)).isEqualTo("INSERT UPDATE DELETE");
  }

  /** PostgreSQL fires it wherever its rows come from. */
  @Tag("all")
  @ParameterizedTest
  @EnumSource(
      value = TriggerForm.class,
      names = {"ROW", "DEFERRED"})
  void h78_aTriggerPerRowGoesOnAsAPartitions(TriggerForm form, TestDatabase database)
      throws Exception {
    var channel = changes().form(form).build();
    PgOnce.using(database.dataSource()).install(channel);
    database.execute(ATTACH);
    database.execute("insert into author values (1, 'Ann'), (11, 'Bob')");
    database.execute("update author set name = 'Anna' where id = 1");
    database.execute("update author set id = 12 where id = 1");
    database.execute("update author set id = 2 where id = 11");
    assertThat(operations(database)).isEqualTo("INSERT UPDATE DELETE INSERT");

    assertThat(check(database, channel)).isEmpty();
    assertThat(plan(database, channel).warnings())
        .anyMatch(
            line ->
                line.contains("table public.author_1 is a partition of public.author: rows of"));
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.listen(channel, (change, tx) -> {});
      pgonce.start();
    }
  }

  @Test
  void h78_aTriggerPerStatementThatIsAskedForIsWarnedOf(TestDatabase database) throws Exception {
    var channel = changes().form(TriggerForm.STATEMENT).build();
    PgOnce.using(database.dataSource()).install(channel);
    assertThat(check(database, channel)).isEmpty();
    database.execute(ATTACH);
    assertThat(check(database, channel))
        .singleElement()
        .asString()
        .contains(
            "table public.author_1 is a partition of public.author, and its triggers fire per statement")
        .endsWith("Take TriggerForm.ROW, or leave the form out");
  }

  @Test
  void h78_aTableThatOthersBeginToInheritFromIsToldAsSuch(TestDatabase database) throws Exception {
    var writers =
        TriggerChannel.changesOf("writer", JsonNode.class).named("writers").afterDelete().build();
    PgOnce.using(database.dataSource()).install(writers);
    database.execute("alter table author_1 inherit writer");
    assertThat(check(database, writers))
        .singleElement()
        .asString()
        .contains("table public.writer has tables that inherit from it since it got its triggers");
    PgOnce.using(database.dataSource()).install(writers);
    assertThat(check(database, writers)).isEmpty();
    database.execute("alter table author_1 no inherit writer");
    assertThat(check(database, writers))
        .singleElement()
        .asString()
        .contains("table public.writer has become a table by itself since");
  }

  @Test
  @Tag("all")
  void h78_aRunningListenerWarnsWithTheReason(TestDatabase database) throws Exception {
    var told = new CopyOnWriteArrayList<String>();
    Observer observer =
        event -> {
          if (event instanceof Event.FeedTrouble said) {
            told.add(said.channel() + " " + said.problem());
          }
        };
    try (var pgonce =
        PgOnce.builder(database.pooled(4))
            .observer(observer)
            .pollInterval(Duration.ofMillis(10))
            .build()) {
      pgonce.install(CHANGES);
      pgonce.listen(CHANGES, (change, tx) -> {}).start();
      database.execute(ATTACH);
      await().atMost(Duration.ofSeconds(30)).until(() -> !told.isEmpty());
      // Each is told once.
      PgOnce.using(database.dataSource()).install(CHANGES);
      database.execute("alter table author_1 disable trigger \"pgonce_changes:delete\"");
      await()
          .atMost(Duration.ofSeconds(30))
          .until(
              () -> told.stream().anyMatch(line -> line.contains("is disabled, so its deleted")));
      assertThat(told)
          .doesNotHaveDuplicates()
          .allMatch(line -> line.startsWith("changes channel changes: "))
          .anyMatch(
              line ->
                  line.contains(
                      "has become a partition of public.author since it got its triggers"));
    }
  }

  @Tag("all")
  @Test
  void h78_aPartitionIsWatchedByItself(TestDatabase database) throws Exception {
    var twos = TriggerChannel.on("author_2", JsonNode.class).named("twos").afterInsert().build();
    PgOnce.using(database.dataSource()).install(twos);
    database.execute(ATTACH);
    database.execute("insert into author values (1, 'Ann'), (11, 'Bob')");
    assertThat(
            database.queryString(
                "select string_agg(payload->>'name', ' ') from pgonce.notification where subscription_id > 0"))
        .isEqualTo("Bob");
  }

  private static String operations(TestDatabase database) throws SQLException {
    return String.valueOf(
        database.queryString(
            "select string_agg(payload->>'op', ' ' order by id) from pgonce.notification where subscription_id > 0"));
  }

  private static List<String> check(TestDatabase database, TriggerChannel<?> channel)
      throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.check(connection, channel);
    }
  }

  private static Plan plan(TestDatabase database, TriggerChannel<?> channel) throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.plan(connection, channel);
    }
  }
}
