package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnceException;
import org.pgonce.records.Records;
import org.pgonce.records.TableName;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A record that is printed for a table compiles, fits the table, and reads its rows. */
@PgTest(PgOnceInstalled.class)
class RecordSourceTest {

  @Test
  void example_aChannelIsDefinedByPrintingARecord(TestDatabase database) throws Exception {
    database.execute(
        """
        create schema app;
        create type app.mood as enum ('happy', 'so-so');
        create type app.city as (name text, inhabitants int);
        create table app.author (
          id bigint generated always as identity primary key,
          name text not null,
          created_at timestamptz not null default now(),
          mood app.mood not null,
          home app.city,
          "E-Mail" text,
          scores int[] not null)
        """);
    try (var connection = database.dataSource().getConnection()) {
      var printed = Records.print(connection, "app.author");
      assertThat(Files.readString(Path.of("../docs/records.md"))).contains(printed);
      assertThat(printed)
          .isEqualTo(
              """
              // A row of table "app.author", as it was when this was printed.
              // What each type of PostgreSQL is in Java is told by the package org.pgonce.records.

              import com.fasterxml.jackson.annotation.JsonProperty;
              import java.time.Instant;
              import java.util.List;
              import org.jspecify.annotations.Nullable;
              import org.pgonce.triggers.TriggerChannel;

              public record Author(
                  long id,
                  String name,
                  Instant createdAt,
                  Mood mood,
                  @Nullable City home,
                  @JsonProperty("E-Mail") @Nullable String eMail,
                  List<@Nullable Integer> scores) {

                public enum Mood {
                  happy,
                  @JsonProperty("so-so")
                  SO_SO
                }

                public record City(
                    @Nullable String name,
                    @Nullable Integer inhabitants) {}

                public static final TriggerChannel<Author> INSERTED =
                    TriggerChannel.on("app.author", Author.class).afterInsert().build();
              }
              """);
    }

    var author = PrintedRecord.of(database, "app.author");
    var row =
        author
            .inserted(
                1,
                "insert into app.author (name, created_at, mood, home, \"E-Mail\", scores) values ('Ann', '2024-02-29 12:00+00', 'so-so', ('Bonn', null), 'ann@example.org', '{1,null}')")
            .handled();
    assertThat(row)
        .singleElement()
        .hasToString(
            "Author[id=1, name=Ann, createdAt=2024-02-29T12:00:00Z, mood=SO_SO, home=City[name=Bonn, inhabitants=null], eMail=ann@example.org, scores=[1, null]]");
    assertThat(author.fit()).hasToString("no difference\n");
  }

  @Test
  void whateverColumnsAreCalledTheirValuesArrive(TestDatabase database) throws Exception {
    // What trips Java, its comments and literals, Jackson's naming, or a record.
    var names =
        Stream.of(
                "class",
                "a b",
                "größe",
                "数量",
                "😀",
                "Name",
                "name",
                "NAME",
                "nAmE",
                "createdBy",
                "created_by",
                "CreatedBy",
                "a_2",
                "a2",
                "a__b",
                "_a",
                "a_",
                "1st",
                "hashCode",
                "hash_code",
                "wait",
                "get_x",
                "x",
                "is_active",
                "active",
                "record",
                "var",
                "yield",
                "_",
                "__",
                "$",
                "a$b",
                "quote\"",
                "back\\slash",
                "\\u000a",
                "\\u0022",
                "new\nline",
                "*/ /*",
                "\t",
                "+",
                "-",
                "URL",
                "some_URL",
                "inserted",
                "INSERTED",
                "a.b",
                "zero\u200bwidth",
                "zerowidth",
                "\u202eleft",
                "tag\u2028",
                "İ",
                "ß",
                "e\u0301",
                "é",
                "true",
                "null",
                "column5",
                "this",
                "to_string",
                "toString",
                "later_by",
                "laterBy",
                "get_class",
                "{}",
                "%s")
            .toList();
    var columns =
        names.stream().map(name -> quoted(name) + " int not null").collect(Collectors.joining(","));
    database.execute("create table odd (" + columns + ")");

    var odd = PrintedRecord.of(database, "odd");
    var values =
        IntStream.rangeClosed(1, names.size())
            .mapToObj(Integer::toString)
            .collect(Collectors.joining(","));
    var row = odd.inserted(1, "insert into odd values (" + values + ")").handled().get(0);

    assertThat(odd.fit()).hasToString("no difference\n");
    var n = 0;
    for (var component : odd.components().keySet()) {
      assertThat(odd.value(row, component)).as(component).isEqualTo(++n);
    }
    assertThat(n).isEqualTo(names.size());
    assertThat(odd.components().keySet())
        .contains("class_", "aB", "größe", "数量", "column5", "wait_", "isActive", "_1st", "url");
  }

  @Test
  void whateverTypesAndLabelsAreCalledTheirValuesArrive(TestDatabase database) throws Exception {
    database.execute(
        """
        create schema "Other Schema";
        create type mood as enum ('happy');
        create type "Other Schema".mood as enum ('HAPPY', 'Happy', 'h-appy', 'h_appy', 'H_APPY', 'class', 'a b', 'a-b', '+', '-', '1',
          'ordinal', ' x', 'x', '"', E'\\\\', '😀', 'null', '$VALUES', 'INSERTED');
        create type empty as enum ('', 'full');
        create type nothing as enum ();
        create type without as ();
        create type "string" as (list text, "class" int, "Class" int);
        create type "123" as (instant "string", "instants" "string"[]);
        create domain "Domain" as "string";
        create table "List" (a mood, b "Other Schema".mood[], c empty, d nothing, e "string", f "123", g "Domain", h "Domain"[], i without)
        """);

    var list = PrintedRecord.of(database, "\"List\"");

    assertThat(list.fit()).hasToString("no difference\n");
    assertThat(list.type().getName()).isEqualTo("ListRow");
    assertThat(list.channel().name()).isEqualTo("list_inserted");
    assertThat(list.components())
        .containsEntry("a", "@Nullable() Mood")
        .containsEntry("c", "@Nullable() String")
        .containsEntry("e", "@Nullable() StringRow")
        .containsEntry("f", "@Nullable() Row123")
        .containsEntry("g", "@Nullable() Domain");
    var row =
        list.inserted(
                1,
                """
                insert into "List" values ('happy', enum_range(null::"Other Schema".mood), '', null, ('l', 1, 2), (('m', 3, 4), array[('n', 5, 6)::"string"]),
                  ('o', 7, 8), array[('p', 9, 10)::"string"]::"Domain"[], row())
                """)
            .handled()
            .get(0);
    assertThat(row)
        .hasToString(
            "ListRow[a=happy, b=[HAPPY, Happy, H_APPY_2, h_appy, H_APPY, CLASS, A_B, A_B_2, LABEL_9, LABEL_10, _1, ordinal, X, x, LABEL_15,"
                + " LABEL_16, LABEL_17, NULL, VALUES, INSERTED], c=, d=null, e=StringRow[list=l, class_=1, class_2=2],"
                + " f=Row123[instant=StringRow[list=m, class_=3, class_2=4], instants=[StringRow[list=n, class_=5, class_2=6]]],"
                + " g=Domain[list=o, class_=7, class_2=8], h=[Domain[list=p, class_=9, class_2=10]], i=Without[]]");
  }

  @Test
  void aRecordHasNoRoomForAllColumnsOfAWideTable(TestDatabase database) throws Exception {
    // A constructor takes 255 parameters, of which one is this; a long counts twice.
    var columns =
        IntStream.rangeClosed(1, 199)
            .mapToObj(n -> ", c" + n + " bigint not null")
            .collect(Collectors.joining());
    database.execute("create table wide (c0 int not null" + columns + ")");

    var wide = PrintedRecord.of(database, "wide");

    assertThat(wide.components()).hasSize(127);
    assertThat(wide.source())
        .contains(
            "  // Left out: column \"c127\", because a record has no room for more components.\n")
        .contains("column \"c199\"");
    assertThat(wide.fit().fits()).isTrue();
    assertThat(wide.fit().remarks())
        .hasSize(73)
        .contains("column c127 of table public.wide, bigint, is read by no component of Wide");
  }

  @Test
  void aTableWithoutColumnsHasARecordToo(TestDatabase database) throws Exception {
    database.execute("create table nothing ()");

    var nothing = PrintedRecord.of(database, "nothing");

    assertThat(nothing.inserted(1, "insert into nothing default values").handled())
        .singleElement()
        .hasToString("Nothing[]");
  }

  @Test
  void aNameThatCanBeNoChannelsIsReplaced(TestDatabase database) throws Exception {
    var tables =
        Map.of(
            "author",
            "author_inserted",
            "app.author",
            "app.author_inserted",
            "\"Author Book\"",
            "author_book_inserted",
            "\"日本\"",
            "row_inserted",
            "a".repeat(63),
            "a".repeat(39) + "_inserted");
    database.execute("create schema app");
    for (var table : tables.keySet()) {
      database.execute("create table " + table + " (id int not null)");
      var printed = PrintedRecord.of(database, table);
      assertThat(printed.channel().name()).as(table).isEqualTo(tables.get(table));
      assertThat(printed.channel().table()).isEqualTo(TableName.parse(table));
    }
  }

  @Test
  void h12_whatCanFeedNoChannelHasNoRecord(TestDatabase database) throws Exception {
    database.execute("create view seen as select 1 as id");
    try (var connection = database.dataSource().getConnection()) {
      assertThatThrownBy(() -> Records.print(connection, "seen"))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("pgonce cannot print a record: public.seen is a view");
      assertThatThrownBy(() -> Records.print(connection, "absent"))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("table absent does not exist");
      assertThatThrownBy(() -> Records.print(connection, "a b"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("table name «a b» is not one that SQL reads");
    }
  }

  @Test
  void h34_whoMayOnlyConnectCanPrint(TestDatabase database) throws Exception {
    database.execute("create schema app; create table app.author (id int not null)");
    var reader = database.loginRole("reader");
    try (var connection = reader.dataSource().getConnection()) {
      assertThat(Records.print(connection, "app.author")).contains("int id) {");
    }
  }

  private static String quoted(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }
}
