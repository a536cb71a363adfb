package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.pgonce.records.Fit;
import org.pgonce.records.Records;
import org.pgonce.records.TableName;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/** Where a record and a table disagree, in one call. */
@PgTest(PgOnceInstalled.class)
class FitTest {

  record Account(int id, String owner, Optional<String> nickname) {}

  @Test
  void example_whereARecordAndATableDisagree(TestDatabase database) throws Exception {
    database.execute(
        "create table account (id bigint not null, owner text, balance numeric(12,2))");
    try (var connection = database.dataSource().getConnection()) {
      var fit = Records.fit(connection, "account", Account.class);
      assertThat(Files.readString(Path.of("../docs/records.md"))).contains(fit.toString());
      assertThat(fit)
          .hasToString(
              """
              misfit: Account.id is int, but column id of table public.account is bigint: use long, which holds all of its values
              remark: Account.owner is not declared as @Nullable or Optional, but column owner of table public.account may be null
              remark: Account.nickname has no column nickname in table public.account, and stays empty
              remark: column balance of table public.account, numeric(12,2), is read by no component of Account
              """);
    }
  }

  enum Mood {
    HAPPY,
    @JsonProperty("so-so")
    SO_SO,
    SAD
  }

  record City(String name, int inhabitants, boolean capital) {}

  record Trip(List<List<City>> cities, Optional<Mood> mood, City home) {}

  @Test
  void typesInsideOfTypesAreCompared(TestDatabase database) throws Exception {
    database.execute(
        """
        create type mood as enum ('HAPPY', 'so-so');
        create type city as (name int, inhabitants bigint, capital boolean, country text);
        create table trip (cities city[][] not null, mood mood, home city not null)
        """);
    try (var connection = database.dataSource().getConnection()) {
      var fit = Records.fit(connection, new TableName("public", "trip"), Trip.class);

      assertThat(fit.fits()).isFalse();
      assertThat(fit.misfits())
          .hasSize(2)
          .last()
          .isEqualTo(
              "Trip.home is City, but column home of table public.trip is public.city: City.name is String, but column name of the composite type is integer: use int or long;"
                  + " City.inhabitants is int, but column inhabitants of the composite type is bigint: use long, which holds all of its values");
      assertThat(fit.remarks())
          .containsExactly(
              "column country of composite type public.city, text, is read by no component of City",
              "Mood.SAD is read from no label of enum public.mood");
    }
  }

  record Nested(List<List<Integer>> many, List<List<Short>> vectors) {}

  record Flat(List<Integer> many, List<String> vectors) {}

  @Test
  void anElementThatIsAnArrayItselfIsAList(TestDatabase database) throws Exception {
    database.execute(
        """
        create domain numbers as int[];
        create table t (many numbers[] not null, vectors int2vector[] not null)
        """);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Records.fit(connection, "t", Nested.class)).hasToString("no difference\n");
      assertThat(Records.fit(connection, "t", Flat.class).misfits())
          .containsExactly(
              "Flat.many is List<Integer>, but column many of table public.t is public.numbers[]: for its elements, use a List or an array",
              "Flat.vectors is List<String>, but column vectors of table public.t is int2vector[]: for its elements, use a List or an array");
    }
  }

  record Virtual(int base) {}

  @Test
  void aColumnThatNoTriggerSeesIsRemarkedOn(TestDatabase database) throws Exception {
    assumeThat(database.queryLong("select current_setting('server_version_num')::int"))
        .describedAs("virtual generated columns came with PostgreSQL 18")
        .isGreaterThanOrEqualTo(180_000);
    database.execute(
        "create table t (base int not null, twice int generated always as (base * 2) virtual)");
    try (var connection = database.dataSource().getConnection()) {
      var unseen =
          "column twice of table public.t is generated when it is read: no trigger sees it, and the payload has null in its place";
      assertThat(Records.fit(connection, "t", Virtual.class))
          .isEqualTo(new Fit(List.of(), List.of(unseen)));
      assertThat(Records.fit(connection, "t", JsonNode.class).remarks())
          .containsExactly(
              "JsonNode is not compared with the columns of table public.t: it reads whatever it reads",
              unseen);
    }
    var row =
        PrintedRecord.arrived(
            database,
            TriggerChannel.on("t", JsonNode.class).afterInsert().build(),
            1,
            "insert into t values (1)");
    assertThat(row.handled()).singleElement().hasToString("{\"base\":1,\"twice\":null}");
  }

  @Test
  void whatEndsTheConnectionIsSaidAndNotThatItHasEnded(TestDatabase database) throws Exception {
    database.execute("create table account (id int)");
    TappedSource.Tap tap =
        (sql, real) -> {
          if (sql.contains("pg_attribute")) {
            database.execute(
                "select pg_terminate_backend(pid, 20000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()");
          }
          return sql;
        };
    try (var connection = TappedSource.over(database.dataSource(), tap).getConnection()) {
      assertThatThrownBy(() -> Records.fit(connection, "account", Account.class))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("terminating connection");
    }
  }

  @Test
  void whatCanFeedNoChannelFitsNothing(TestDatabase database) throws Exception {
    database.execute("create view seen as select 1 as id");
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Records.fit(connection, "seen", Account.class).misfits())
          .singleElement()
          .asString()
          .startsWith("public.seen is a view");
      assertThat(Records.fit(connection, "absent", Account.class).misfits())
          .singleElement()
          .asString()
          .startsWith("table absent does not exist");
      assertThatThrownBy(() -> Records.fit(connection, "seen", String.class))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("a row cannot be a java.lang.String");
    }
  }
}
