package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Why nothing of a watched table comes, as {@code pgonce.explain} tells it. */
@PgTest(PgOnceInstalled.class)
@Tag("versions")
class ExplainTest {

  record Author(long id, String name) {}

  private static final TriggerChannel<Author> ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  @BeforeEach
  void install(TestDatabase database) throws SQLException {
    database.execute(
        "create table author (id bigint not null, name text) partition by list (id);"
            + " create table author_1 partition of author for values in (1); create table author_2 partition of author for values in (2)");
    PgOnce.using(database.dataSource()).install(ADDED);
  }

  private static String explained(TestDatabase database) throws SQLException {
    return database.queryString(
        "select cause || ': ' || detail from pgonce.explain('" + ADDED.name() + "')");
  }

  /** Of pgonce.channel_status, which would look idle. */
  private static @Nullable String hint(TestDatabase database) throws SQLException {
    return database.queryString("select hint from pgonce.channel_status");
  }

  @Test
  void explain_notStoredAsATriggerIsDisabled(TestDatabase database) throws Exception {
    assertThat(explained(database)).startsWith("DONE_OR_NEVER: nothing waits; ");
    assertThat(hint(database)).isNull();
    database.execute("alter table author_1 disable trigger user");
    assertThat(hint(database)).isEqualTo("a trigger of its table is disabled: see explain");
    assertThat(explained(database))
        .startsWith("NOT_STORED: trigger \"")
        .endsWith("\" of table public.author_1 is disabled");
    var advice =
        database.queryString("select advice from pgonce.explain('%s')".formatted(ADDED.name()));
    assertThat(advice)
        .startsWith("ALTER TABLE public.author_1 ENABLE TRIGGER ")
        .contains(". What is written meanwhile is missed: it is not stored, now or later, ")
        .contains("INSERT INTO missed SELECT * FROM public.author_1 WHERE ...; COMMIT. One ");
    database.execute("insert into author values (1, 'Ann')");
    assertThat(explained(database)).startsWith("NOT_STORED: ");
    database.execute("alter table author_1 enable trigger user");
    assertThat(hint(database)).isNull();
    database.execute("insert into author values (1, 'Bob')");
    assertThat(explained(database)).startsWith("NO_LISTENER: ");
  }

  @Test
  void explain_notStoredAsAPartitionWasDetached(TestDatabase database) throws Exception {
    database.execute("alter table author detach partition author_2");
    assertThat(explained(database))
        .isEqualTo(
            "NOT_STORED: table public.author_2 was detached, and has no trigger of the channel any more");
  }

  @Test
  void explain_theAdviceOnADetachedPartitionEndsTheCause(TestDatabase database) throws Exception {
    database.execute("alter table author detach partition author_2");
    PgOnce.using(database.dataSource())
        .install(ADDED); // a new start of the service changes nothing about it
    var forget = "SELECT pgonce.forget_partitions('%s')".formatted(ADDED.name());
    assertThat(
            database.queryString("select advice from pgonce.explain('%s')".formatted(ADDED.name())))
        .contains("attach it again, or give it a channel of its own")
        .contains(forget)
        .doesNotContain("Install the channel again");
    database.execute(forget);
    assertThat(explained(database)).startsWith("DONE_OR_NEVER: ");
  }

  @Test
  void explain_notStoredAsTheTableHasNoTrigger(TestDatabase database) throws Exception {
    database.execute("drop table author; create table author (id bigint not null, name text)");
    assertThat(explained(database))
        .startsWith("NOT_STORED: no table has a trigger of the channel, which is fed by \"");
    assertThat(hint(database)).isEqualTo("no table has its trigger: see explain");
  }

  /** As a migration does that copies a table, and keeps the old one for a while. */
  @Test
  void h10_aTableThatWasMadeAnewUnderItsNameIsToldWithWhatMendsIt(TestDatabase database)
      throws Exception {
    database.execute("alter table author rename to author_old");
    assertThat(explained(database)).startsWith("DONE_OR_NEVER: "); // it is captured on
    database.execute("create table author (like author_old including all)");
    assertThat(explained(database))
        .isEqualTo(
            "NOT_STORED: table public.author has no trigger of the channel: it is on table public.author_old");
    var advice =
        database.queryString("select advice from pgonce.explain('%s')".formatted(ADDED.name()));
    assertThat(advice) // it is partitioned
        .startsWith("BEGIN; SET LOCAL lock_timeout = '800ms'; LOCK TABLE ONLY public.author_old ")
        .contains("; then install the channel again, ");
    database.execute(advice.substring(0, advice.indexOf("; then install ")));
    PgOnce.using(database.dataSource()).install(ADDED);
    database.execute("insert into author values (3, 'Ann')");
    assertThat(explained(database)).startsWith("NO_LISTENER: ");
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, ADDED)).isEmpty();
    }
  }

  @Test
  void explain_aGivenIdThatIsGoneIsDoneThoughATriggerIsDisabled(TestDatabase database)
      throws Exception {
    database.execute(
        "insert into author values (1, 'Ann'); delete from pgonce.notification where subscription_id > 0;"
            + " alter table author_1 disable trigger user");
    assertThat(
            database.queryString(
                "select cause || ': ' || detail from pgonce.explain('%s', 1)"
                    .formatted(ADDED.name())))
        .startsWith("DONE_OR_NEVER: it was handled")
        .contains("besides, trigger ");
  }
}
