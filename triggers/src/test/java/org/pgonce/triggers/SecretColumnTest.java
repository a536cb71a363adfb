package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H35: what must not be stored is not stored by way of the primary key either. */
@PgTest(PgOnceInstalled.class)
class SecretColumnTest {

  private static final String PAYLOADS =
      "select string_agg(payload::text, ' ' order by id) from pgonce.notification where subscription_id > 0";

  private static final String LETTERS =
      "select string_agg(payload::text, ' ' order by id) from pgonce.dead_letter";

  @ParameterizedTest
  @EachForm
  void h35_aColumnThatAPrimaryKeyOnlyIncludesIsNoPartOfIt(TriggerForm form, TestDatabase database)
      throws Exception {
    database.execute(
        "create table person (id int, secret text, primary key (id) include (secret))");
    var added =
        TriggerChannel.on("person", Object.class).afterInsert().primaryKeyOnly().form(form).build();
    PgOnce.using(database.dataSource()).install(added);
    database.execute("insert into person values (1, 'hush')");
    assertThat(database.queryString(PAYLOADS)).isEqualTo("{\"id\":1}");
    record Person(int id, String secret) {}
    var wrong =
        TriggerChannel.on("person", Person.class)
            .afterInsert()
            .primaryKeyOnly()
            .named("wrong")
            .build();
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.plan(connection, wrong).obstacles())
          .singleElement()
          .asString()
          .contains("secret");
    }
  }

  @ParameterizedTest
  @EachForm
  void h35_aDeadLetterShowsOfThePrimaryKeyWhatAPayloadMay(TriggerForm form, TestDatabase database)
      throws Exception {
    database.execute(
        "create table person (id int, email text, name text, primary key (id, email))");
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.on("person", Object.class)
                .afterInsert()
                .withoutColumns("email")
                .when("1 / length(new.name) > 0")
                .unstorable(Unstorable.DEAD_LETTER)
                .form(form)
                .named("without")
                .build(),
            TriggerChannel.changesOf("person", Object.class)
                .afterInsert()
                .columns("name")
                .when("1 / length(new.name) > 0")
                .unstorable(Unstorable.DEAD_LETTER)
                .form(form)
                .named("some")
                .build());
    database.execute("insert into person values (1, 'hush', '')");
    assertThat(String.valueOf(database.queryString(LETTERS)).replace(" ", ""))
        .contains("{\"id\":1}", "\"new\":{}")
        .doesNotContain("hush");
    // By another name it is none of those that may be shown.
    database.execute("alter table person rename column email to mail");
    database.execute("insert into person values (2, 'hush', '')");
    assertThat(String.valueOf(database.queryString(LETTERS)).replace(" ", ""))
        .contains("{\"id\":2}")
        .doesNotContain("hush");
    database.execute("insert into person values (3, 'hush', 'a')");
    assertThat(database.queryString(PAYLOADS)).contains("{\"id\":3,").doesNotContain("hush");
  }

  @ParameterizedTest
  @EachForm
  void h35_norOneThatWasRenamedAfterTheWritersSnapshot(TriggerForm form, TestDatabase database)
      throws Exception {
    database.execute("create table person (id int, email text, primary key (id, email))");
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.on("person", Object.class)
                .afterInsert()
                .withoutColumns("email")
                .form(form)
                .build());
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("begin isolation level repeatable read");
      statement.execute("select count(*) from pg_attribute");
      database.execute("alter table person rename column email to mail");
      statement.execute("insert into person values (1, 'hush')");
      statement.execute("commit");
    }
    assertThat(database.queryString(PAYLOADS)).isEqualTo("{\"id\":1}");
  }
}
