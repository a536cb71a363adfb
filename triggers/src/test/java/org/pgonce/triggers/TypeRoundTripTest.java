package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.assertj.core.api.SoftAssertions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.OnCall.DeadLetter;
import org.pgonce.triggers.TypeSamples.Sample;
import tools.jackson.databind.JsonNode;

/**
 * Each type of PostgreSQL, from the writer's row to the record that is printed for its table: every
 * value arrives exactly, or its row is a dead letter whose error names the column.
 */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class TypeRoundTripTest {

  @Tag("all")
  @Test
  void h20_h22_h23_everyTypeArrivesInTheRecordThatIsPrinted(TestDatabase database)
      throws Exception {
    var samples = TypeSamples.of(version(database));
    database.execute(
        TypeSamples.TYPES + "create table sample (row_no int not null" + columns(samples) + ")");

    var printed = PrintedRecord.of(database, "sample");
    var rows = samples.stream().mapToInt(sample -> sample.values().size()).max().orElseThrow();
    var inserts = IntStream.range(0, rows).mapToObj(n -> insert(samples, n)).toArray(String[]::new);
    var outcome = printed.inserted(rows, inserts);

    assertThat(printed.fit()).hasToString("no difference\n");
    assertThat(outcome.dead()).isEmpty();
    var components = List.copyOf(printed.components().keySet());
    var softly = new SoftAssertions();
    for (var c = 0; c < samples.size(); c++) {
      softly
          .assertThat(
              printed
                  .components()
                  .get(components.get(c + 1))
                  .replaceAll("@Nullable\\(\\) ?", "")
                  .replace(" []", "[]"))
          .as(samples.get(c).type())
          .isEqualTo(samples.get(c).java());
    }
    for (var row : outcome.handled()) {
      var n = (int) Objects.requireNonNull(printed.value(row, "rowNo"));
      for (var c = 0; c < samples.size(); c++) {
        var value = printed.value(row, components.get(c + 1));
        check(softly, samples.get(c), n, value);
      }
    }
    softly.assertAll();
  }

  private static void check(SoftAssertions softly, Sample sample, int n, Object value) {
    var isThere = n < sample.expected().size();
    var expected = isThere ? sample.expected().get(n) : null;
    var what = sample.type() + (isThere ? " " + sample.values().get(n) : " null");
    if (expected instanceof String text) {
      softly.assertThat(value).as(what).hasToString(text);
      softly.assertThat(value instanceof String).as(what).isEqualTo(sample.java().equals("String"));
    } else if (!isThere && value instanceof JsonNode node) {
      // Null and JSON's null are one.
      softly.assertThat(node.isNull()).as(what).isTrue();
    } else {
      softly.assertThat(value).as(what).isEqualTo(expected);
    }
  }

  private static String columns(List<Sample> samples) {
    return IntStream.range(0, samples.size())
        .mapToObj(c -> ", c" + c + " " + samples.get(c).type())
        .collect(Collectors.joining());
  }

  private static String insert(List<Sample> samples, int n) {
    return "insert into sample values ("
        + n
        + samples.stream()
            .map(sample -> ", " + (n < sample.values().size() ? sample.values().get(n) : "null"))
            .collect(Collectors.joining())
        + ")";
  }

  @Test
  void h20_aNegativeZeroArrivesAsZero(TestDatabase database) throws Exception {
    database.execute("create table sample (a float8 not null, b real not null)");
    var printed = PrintedRecord.of(database, "sample");

    var row = printed.inserted(1, "insert into sample values ('-0', '-0')").handled().get(0);

    // Which is equal to it, though not in all of its bits: it is written as -0, which is an integer
    // in JSON.
    assertThat(row).hasToString("Sample[a=0.0, b=0.0]");
  }

  enum Mood {
    HAPPY
  }

  record Ratio(double value) {}

  @SuppressWarnings("ArrayRecordComponent") // what is tested
  record Others(
      double narrow,
      BigInteger big,
      BigInteger whole,
      long count,
      BigDecimal exact,
      BigDecimal ratio,
      String raw,
      Mood mood,
      char letter,
      char filled,
      Duration day,
      Duration back,
      OffsetDateTime at,
      ZonedDateTime too,
      Map<String, Object> document,
      List<Object> list,
      Ratio nearest,
      int[] numbers,
      Map<String, Object> city) {}

  @Test
  void h20_h23_otherJavaTypesThanThosePrintedAreReadAsDocumented(TestDatabase database)
      throws Exception {
    database.execute(
        """
        create type city as (name text, since date);
        create table sample (narrow real not null, big bigint not null, whole numeric(30,0) not null, count numeric(18,0) not null,
          exact bigint not null, ratio float8 not null, raw bytea not null, mood char(10) not null, letter varchar(1) not null,
          filled char(1) not null, day interval not null, back interval not null, at timestamptz not null, too timestamptz not null,
          document json not null, list jsonb not null, nearest json not null, numbers int[] not null, city city not null)
        """);
    var row =
        PrintedRecord.arrived(
                database,
                TriggerChannel.on("sample", Others.class).afterInsert().build(),
                1,
                """
                insert into sample values (0.1, -9223372036854775808, 999999999999999999999999999999, 999999999999999999, 9223372036854775807,
                  0.1, '\\x00ff', 'HAPPY', 'ä', '', '1 day', '1 day -25:00:00.000001', '2024-02-29 12:00+14', '2024-02-29 12:00+14',
                  '{"a": [1.10, 12345678901234567890, -0]}', '[1.10, null, {"a": true}]', '{"value": 0.12345678901234567890}', '{1,2}', ('x', 'infinity'))
                """)
            .handled()
            .get(0);

    assertThat(row.toString().replaceAll("\\[I@\\w+", "ints"))
        .isEqualTo(
            "Others[narrow=0.1, big=-9223372036854775808, whole=999999999999999999999999999999, count=999999999999999999, exact=9223372036854775807,"
                + " ratio=0.1, raw=\\x00ff, mood=HAPPY, letter=ä, filled= , day=PT24H, back=PT-1H-0.000001S, at=2024-02-28T22:00Z, too=2024-02-28T22:00Z,"
                + " document={a=[1.10, 12345678901234567890, 0]}, list=[1.10, null, {a=true}], nearest=Ratio[value=0.12345678901234568], numbers=ints,"
                + " city={name=x, since=infinity}]");
  }

  @SuppressWarnings("ArrayRecordComponent") // what is tested
  record Narrow(
      @Nullable Character letter,
      @Nullable Duration took,
      int @Nullable [] numbers,
      @Nullable Long count,
      @Nullable Mood mood,
      @Nullable Ratio ratio) {}

  @Test
  void h20_h23_whatAnotherJavaTypeHasNoPlaceForIsADeadLetterToo(TestDatabase database)
      throws Exception {
    database.execute(
        "create table sample (letter varchar(1), took interval, numbers int[], count numeric(18,0), mood text, ratio json)");
    var channel = TriggerChannel.on("sample", Narrow.class).afterInsert().build();
    var nested = "[".repeat(499) + "]".repeat(499);

    var outcome =
        PrintedRecord.arrived(
            database,
            channel,
            9,
            "insert into sample (letter) values (''), ('😀')",
            "insert into sample (took) values ('1 month')",
            "insert into sample (numbers) values ('{1,null}'), ('{{1}}')",
            "insert into sample (count) values ('NaN')",
            "insert into sample (mood) values ('0')",
            "insert into sample (ratio) values ('{\"value\": 0.5, \"a\": %s}')".formatted(nested),
            "insert into sample (ratio) values ('{\"value\": 0.5, \"a\": 1}')");

    assertThat(outcome.handled()).singleElement().asString().endsWith("ratio=Ratio[value=0.5]]");
    assertThat(outcome.dead())
        .extracting(letter -> letter.error().replaceAll("(?s).* at \\.(\\w+).*", "$1"))
        .containsExactlyInAnyOrder(
            "letter", "letter", "took", "numbers", "numbers", "count", "mood", "ratio");
  }

  record Bytes(String c) {}

  @Test
  void h23_aCharAbove127IsExactSincePostgreSQL15(TestDatabase database) throws Exception {
    database.execute("create table sample (c \"char\" not null)");

    var row =
        PrintedRecord.arrived(
                database,
                TriggerChannel.on("sample", Bytes.class).afterInsert().build(),
                1,
                "insert into sample values ((-56)::\"char\")")
            .handled()
            .get(0);

    assertThat(row).isEqualTo(new Bytes(version(database) >= 150_000 ? "\\310" : "\ufffd"));
  }

  @Test
  void h20_h22_whatJavaHasNoPlaceForIsADeadLetterThatNamesTheColumn(TestDatabase database)
      throws Exception {
    var unreadable =
        new ArrayList<>(
            List.of(
                "numeric 'NaN'",
                "numeric 'Infinity'",
                "numeric '-Infinity'",
                "numeric[] '{NaN}'",
                "date 'infinity'",
                "date '-infinity'",
                "date '0001-12-31 BC'",
                "date '4713-01-01 BC'",
                "date '10000-01-01'",
                "date '5874897-12-31'",
                "timestamp 'infinity'",
                "timestamp '-infinity'",
                "timestamp '4713-01-01 00:00 BC'",
                "timestamp '10000-01-01 00:00'",
                "timestamp '294276-12-31 23:59:59.999999'",
                "timestamptz 'infinity'",
                "timestamptz '-infinity'",
                "timestamptz '4713-01-01 00:00+00 BC'",
                "timestamptz '0001-12-31 23:59:59.999999+00 BC'",
                "timestamptz '10000-01-01 00:00+00'",
                "timestamptz '294276-12-31 23:59:59.999999+00'",
                "timestamptz[] '{infinity}'",
                "time '24:00'",
                "int[] '{{1,2},{3,4}}'",
                "int[][] '{1,2}'",
                "json '{\"a\": 1, \"a\": 2}'",
                "json '" + "[".repeat(1001) + "]".repeat(1001) + "'"));
    var types = unreadable.stream().map(one -> one.split(" ", 2)[0]).toList();
    var columns =
        IntStream.range(0, types.size())
            .mapToObj(c -> ", c" + c + " " + types.get(c))
            .collect(Collectors.joining());
    database.execute("create table sample (row_no int not null" + columns + ")");
    var inserts =
        IntStream.range(0, types.size())
            .mapToObj(
                c ->
                    "insert into sample (row_no, c%d) values (%d, %s)"
                        .formatted(c, c, unreadable.get(c).split(" ", 2)[1]))
            .toArray(String[]::new);
    var printed = PrintedRecord.of(database, "sample");

    var outcome = printed.inserted(inserts.length, inserts);

    assertThat(outcome.handled()).isEmpty();
    var named = new LinkedHashSet<String>();
    for (DeadLetter letter : outcome.dead()) {
      assertThat(letter.reason()).isEqualTo("UNREADABLE");
      named.add(letter.error().replaceAll("(?s).* at \\.(c\\d+).*", "$1"));
    }
    assertThat(named)
        .containsExactlyInAnyOrder(
            IntStream.range(0, types.size()).mapToObj(c -> "c" + c).toArray(String[]::new));
  }

  @Test
  @Tag("all")
  void h23_typesOfExtensionsArrive(TestDatabase database) throws Exception {
    assumeThat(
            database.queryLong(
                "select count(*) from pg_available_extensions where name in ('hstore', 'citext', 'ltree', 'cube')"))
        .describedAs("the server has the extensions hstore, citext, ltree and cube")
        .isEqualTo(4);
    database.execute(
        """
        create extension hstore; create extension citext; create extension ltree; create extension cube;
        create table sample (h hstore not null, hs hstore[], c citext not null, l ltree not null, u cube not null)
        """);
    var printed = PrintedRecord.of(database, "sample");

    assertThat(printed.components().values())
        .containsExactly(
            "JsonNode", "@Nullable() List<@Nullable() JsonNode>", "String", "String", "String");
    assertThat(
            printed
                .inserted(
                    1,
                    "insert into sample values ('a=>\"1.10\", \"\"=>\"\\\"\", n=>NULL', array['b=>c'::hstore], 'Mixed', 'a.b', '(1,2),(3,4)')")
                .handled())
        .singleElement()
        .hasToString(
            "Sample[h={\"\":\"\\\"\",\"a\":\"1.10\",\"n\":null}, hs=[{\"b\":\"c\"}], c=Mixed, l=a.b, u=(1, 2),(3, 4)]");
  }

  record Pairs(Map<String, String> pairs) {}

  @Test
  void h23_hstoreIsAMapToo(TestDatabase database) throws Exception {
    assumeThat(
            database.queryLong(
                "select count(*) from pg_available_extensions where name = 'hstore'"))
        .describedAs("the server has the extension hstore")
        .isEqualTo(1);
    database.execute("create extension hstore; create table sample (pairs hstore not null)");

    assertThat(
            PrintedRecord.arrived(
                    database,
                    TriggerChannel.on("sample", Pairs.class).afterInsert().build(),
                    1,
                    "insert into sample values ('a=>1.10, b=>NULL')")
                .handled())
        .singleElement()
        .hasToString("Pairs[pairs={a=1.10, b=null}]");
  }

  @Test
  void h23_notNullColumnsArePrimitivesAndGeneratedOnesArrive(TestDatabase database)
      throws Exception {
    database.execute(
        """
        create domain positive as int not null check (value > 0);
        create table sample (
          id bigint generated always as identity,
          small smallint not null, plain int not null, flag boolean not null, ratio float8 not null, narrow real not null,
          given positive, raw bytea not null,
          twice int generated always as (plain * 2) stored,
          name text not null default 'x')
        """);
    if (version(database) >= 180_000) {
      database.execute(
          "alter table sample add column thrice int generated always as (plain * 3) virtual not null");
    }
    var printed = PrintedRecord.of(database, "sample");

    assertThat(printed.components())
        .hasToString(
            "{id=long, small=short, plain=int, flag=boolean, ratio=double, narrow=float, given=int, raw=byte[], twice=@Nullable() Integer, name=String}");
    assertThat(
            printed
                .source()
                .contains(
                    "// Left out: column \"thrice\", which is generated when it is read and not seen by triggers."))
        .isEqualTo(version(database) >= 180_000);
    var row =
        printed
            .inserted(
                1,
                "insert into sample (small, plain, flag, ratio, narrow, given, raw) values (-32768, 715827882, true, 5e-324, 0.1, 1, '')")
            .handled()
            .get(0);
    assertThat(row.toString().replaceAll("\\[B@\\w+", "bytes"))
        .isEqualTo(
            "Sample[id=1, small=-32768, plain=715827882, flag=true, ratio=4.9E-324, narrow=0.1, given=1, raw=bytes, twice=1431655764, name=x]");
    assertThat((byte[]) printed.value(row, "raw")).isEmpty();
  }

  @Tag("all")
  @Test
  void h23_32MBFromToastArrive(TestDatabase database) throws Exception {
    database.execute(
        """
        create table sample (text text not null, bytes bytea not null);
        alter table sample alter column bytes set storage external
        """);
    var printed = PrintedRecord.of(database, "sample");

    // No two pieces are alike, and they are compressed fast: the text in its TOAST, and payloads.
    var outcome =
        printed.inserted(
            1,
            """
            insert into sample select t.t, '' from (select string_agg(lpad(to_hex(g), 32, '0'), '') from generate_series(1, 1048576) g) t (t)
            """);
    var text = (String) printed.value(outcome.handled().get(0), "text");

    assertThat(text).hasSize(32 * 1024 * 1024);
    assertThat(md5(text.getBytes(StandardCharsets.US_ASCII)))
        .isEqualTo(database.queryString("select md5(text) from sample"));

    database.execute("truncate sample");
    outcome =
        printed.inserted(
            1,
            """
            insert into sample select '', decode(t.t || t.t, 'hex') from (select string_agg(lpad(to_hex(g), 32, '0'), '') from generate_series(1, 1048576) g) t (t)
            """);
    var bytes = (byte[]) printed.value(outcome.handled().get(0), "bytes");

    assertThat(bytes).hasSize(32 * 1024 * 1024);
    assertThat(md5(bytes)).isEqualTo(database.queryString("select md5(bytes) from sample"));
  }

  private static String md5(byte[] bytes) throws Exception {
    return HexFormat.of().formatHex(MessageDigest.getInstance("MD5").digest(bytes));
  }

  private static int version(TestDatabase database) throws Exception {
    return (int) database.queryLong("select current_setting('server_version_num')::int");
  }
}
