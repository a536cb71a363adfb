package org.pgonce.triggers;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Values at the edges of each type of PostgreSQL, and what they are in Java. */
final class TypeSamples {

  /** What the types of the samples need. */
  static final String TYPES =
      """
      create type mood as enum ('happy', 'so-so', 'quote "');
      create type city as (name text, inhabitants int, moods mood[], founded date);
      create type country as (capital city, cities city[], code char(2));
      create domain positive as int check (value > 0);
      create domain numbers as int[];
      create domain matrix as int[][];
      create domain home as city;
      create domain feeling as mood;
      """;

  /**
   * A column and its values.
   *
   * @param java the declared type of the component that is printed for it
   * @param values in SQL
   * @param expected in Java; a text stands for what is written so
   */
  record Sample(String type, String java, List<String> values, List<@Nullable Object> expected) {}

  private final List<Sample> samples = new ArrayList<>();

  private TypeSamples() {}

  private void add(String type, String java, Object... pairs) {
    var values = new ArrayList<String>();
    var expected = new ArrayList<@Nullable Object>();
    for (var i = 0; i < pairs.length; i += 2) {
      values.add((String) pairs[i]);
      expected.add(pairs[i + 1]);
    }
    samples.add(new Sample(type, java, values, expected));
  }

  /** Written in Java as in SQL, and read as a String. */
  private void text(String type, String... values) {
    var pairs = new ArrayList<Object>();
    for (var value : values) {
      pairs.add("'" + value.replace("'", "''") + "'");
      pairs.add(value);
    }
    add(type, "String", pairs.toArray());
  }

  static List<Sample> of(int serverVersion) {
    var samples = new TypeSamples();
    samples.numbers();
    samples.texts();
    samples.times(serverVersion);
    samples.ranges();
    samples.arrays();
    samples.ownTypes();
    samples.documents();
    samples.networksAndShapes();
    samples.catalogTypes();
    return samples.samples;
  }

  private void numbers() {
    add("smallint", "Short", "-32768", (short) -32768, "32767", (short) 32767);
    add("integer", "Integer", "-2147483648", Integer.MIN_VALUE, "2147483647", Integer.MAX_VALUE);
    add(
        "bigint",
        "Long",
        "-9223372036854775808",
        Long.MIN_VALUE,
        "9223372036854775807",
        Long.MAX_VALUE);
    add(
        "numeric",
        "BigDecimal",
        "1.10",
        new BigDecimal("1.10"),
        "repeat('9', 131000)::numeric",
        new BigDecimal("9".repeat(131_000)),
        "-('0.' || repeat('0', 16382) || '1')::numeric",
        new BigDecimal("-0." + "0".repeat(16_382) + "1"),
        "(repeat('9', 131072) || '.' || repeat('9', 16383))::numeric",
        new BigDecimal("9".repeat(131_072) + "." + "9".repeat(16_383)),
        "9223372036854775808",
        new BigDecimal("9223372036854775808"));
    add("numeric(20,15)", "BigDecimal", "1e-10", new BigDecimal("0.000000000100000"));
    add("numeric(5,0)", "BigDecimal", "12345", new BigDecimal("12345"));
    add(
        "real",
        "Float",
        "0.1",
        0.1f,
        "'NaN'",
        Float.NaN,
        "'-Infinity'",
        Float.NEGATIVE_INFINITY,
        "3.4028235e38",
        Float.MAX_VALUE,
        "1e-45",
        Float.MIN_VALUE,
        "16777217",
        16777216f);
    add(
        "double precision",
        "Double",
        "0.1",
        0.1,
        "'NaN'",
        Double.NaN,
        "'Infinity'",
        Double.POSITIVE_INFINITY,
        "'-Infinity'",
        Double.NEGATIVE_INFINITY,
        "1.7976931348623157e308",
        Double.MAX_VALUE,
        "5e-324",
        Double.MIN_VALUE,
        "0.1::float8 + 0.2::float8",
        0.1 + 0.2);
    add("boolean", "Boolean", "true", true, "false", false);
    add(
        "money",
        "String",
        "'12.34'",
        "$12.34",
        "'-92233720368547758.08'",
        "-$92,233,720,368,547,758.08");
  }

  private void texts() {
    add(
        "text",
        "String",
        "''",
        "",
        "E'a\"\\\\\\n\\r\\t\\u0001\\u007f\\u0085\\u2028'",
        "a\"\\\n\r\t\u0001\u007f\u0085\u2028",
        "'ä数😀'",
        "ä数😀",
        "' null '",
        " null ");
    add("varchar(3)", "String", "'ä😀 '", "ä😀 ");
    add("char(3)", "String", "'a'", "a  ", "''", "   ");
    text("name", "a name", "");
    add("\"char\"", "String", "'x'", "x", "''", "");
    add(
        "bytea",
        "byte[]",
        "''",
        new byte[0],
        "'\\x00ff'",
        new byte[] {0, -1},
        "decode(repeat('00ff5c78', 262144), 'hex')",
        HexFormat.of().parseHex("00ff5c78".repeat(262_144)));
    add(
        "uuid",
        "UUID",
        "'00000000-0000-0000-0000-000000000000'",
        new UUID(0, 0),
        "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
        new UUID(-1, -1));
    add("bit(3)", "String", "B'101'", "101");
    add("bit varying", "String", "B''", "", "B'01'", "01");
    text("tsvector", "'a' 'cat':2A 'it''s'", "");
    text("tsquery", "'a' & !( 'b' | 'c':* )");
    text("xml", "<a b=\"c\">&lt;ä</a>", "");
  }

  private void times(int serverVersion) {
    add(
        "date",
        "LocalDate",
        "'0001-01-01'",
        LocalDate.of(1, 1, 1),
        "'2024-02-29'",
        LocalDate.of(2024, 2, 29),
        "'9999-12-31'",
        LocalDate.of(9999, 12, 31));
    add(
        "time",
        "LocalTime",
        "'00:00'",
        LocalTime.MIN,
        "'23:59:59.999999'",
        LocalTime.parse("23:59:59.999999"));
    text("time with time zone", "00:00:00+00", "24:00:00+05:30", "23:59:59.999999-15:59");
    add(
        "timestamp",
        "LocalDateTime",
        "'0001-01-01 00:00'",
        LocalDateTime.parse("0001-01-01T00:00"),
        "'9999-12-31 23:59:59.999999'",
        LocalDateTime.parse("9999-12-31T23:59:59.999999"));
    add(
        "timestamp with time zone",
        "Instant",
        "'0001-01-01 00:00+00'",
        Instant.parse("0001-01-01T00:00:00Z"),
        "'9999-12-31 23:59:59.999999+00'",
        Instant.parse("9999-12-31T23:59:59.999999Z"),
        "'1969-12-31 23:59:59.999999-15:59'",
        Instant.parse("1970-01-01T15:58:59.999999Z"));
    add(
        "interval",
        "String",
        "'1 year -2 mons +3 days -04:05:06.789'",
        "P10M3DT-4H-5M-6.789S",
        "'0'",
        "PT0S",
        "'-178000000 years'",
        "P-178000000Y",
        "'-00:00:00.000001'",
        "PT-0.000001S",
        "'1 day'",
        "P1D",
        "'24 hours'",
        "PT24H",
        "'1 year 2 mons 3 days 04:05:06.000007'",
        "P1Y2M3DT4H5M6.000007S");
    if (serverVersion >= 170_000) {
      add("interval", "String", "'infinity'", "infinity", "'-infinity'", "-infinity");
    }
  }

  private void ranges() {
    text("int4range", "[1,5)", "empty", "(,)", "[-2147483648,)");
    text("int8range", "[-9223372036854775808,9223372036854775807)");
    text("numrange", "(1.10,2.200]", "(,0.00001]");
    add("daterange", "String", "'[2024-01-01,infinity)'", "[2024-01-01,infinity)");
    add("tsrange", "String", "'[0044-03-15 BC,infinity]'", "[\"0044-03-15 00:00:00 BC\",infinity]");
    add(
        "tstzrange",
        "String",
        "'[2024-01-01 00:00+14,2024-01-02 00:00+00)'",
        "[\"2023-12-31 10:00:00+00\",\"2024-01-02 00:00:00+00\")");
    text("int4multirange", "{}", "{[1,3),[5,7)}");
    text("nummultirange", "{(,1.10],[2.0,)}");
    add(
        "tstzmultirange",
        "String",
        "'{[2024-01-01 00:00+00,2024-01-02 00:00+00)}'",
        "{[\"2024-01-01 00:00:00+00\",\"2024-01-02 00:00:00+00\")}");
  }

  private void arrays() {
    add(
        "int[]",
        "List<Integer>",
        "'{}'",
        List.of(),
        "'{1,null,-2147483648}'",
        Arrays.asList(1, null, Integer.MIN_VALUE),
        // Bounds are lost.
        "'[2:3]={1,2}'",
        List.of(1, 2));
    add(
        "int[][]",
        "List<List<Integer>>",
        "'{}'",
        List.of(),
        "'{{1,2},{3,null}}'",
        List.of(List.of(1, 2), Arrays.asList(3, null)),
        "'[0:0][5:6]={{1,2}}'",
        List.of(List.of(1, 2)));
    add(
        "int[][][]",
        "List<List<List<Integer>>>",
        "'{{{1},{2}},{{3},{4}}}'",
        "[[[1], [2]], [[3], [4]]]");
    add(
        "text[]",
        "List<String>",
        "array['', null, 'NULL', 'a,\"b\"', E'\\\\']",
        Arrays.asList("", null, "NULL", "a,\"b\"", "\\"));
    add("numeric(6,2)[]", "List<BigDecimal>", "'{1.1}'", List.of(new BigDecimal("1.10")));
    add(
        "float8[]",
        "List<Double>",
        "'{NaN,Infinity,0.1}'",
        List.of(Double.NaN, Double.POSITIVE_INFINITY, 0.1));
    add("bigint[]", "List<Long>", "'{9007199254740993}'", List.of(9007199254740993L));
    add("boolean[]", "List<Boolean>", "'{t,f,null}'", Arrays.asList(true, false, null));
    add(
        "timestamptz[]",
        "List<Instant>",
        "'{\"2024-02-29 00:00+14\"}'",
        List.of(Instant.parse("2024-02-28T10:00:00Z")));
    add(
        "uuid[]",
        "List<UUID>",
        "array['00000000-0000-0000-0000-000000000000'::uuid]",
        List.of(new UUID(0, 0)));
    add(
        "jsonb[]",
        "List<JsonNode>",
        "array['[1]'::jsonb, '{\"a\": 1.10}', null]",
        "[[1], {\"a\":1.10}, null]");
    add("inet[]", "List<String>", "'{10.0.0.1/8,::1}'", List.of("10.0.0.1/8", "::1"));
    add("int4range[]", "List<String>", "'{\"[1,2)\",empty}'", List.of("[1,2)", "empty"));
    add("point[]", "List<String>", "array['(1,2)'::point]", List.of("(1,2)"));
    add(
        "mood[]",
        "List<Mood>",
        "'{happy,so-so,\"quote \\\"\",null}'",
        "[happy, SO_SO, QUOTE, null]");
    add(
        "city[]",
        "List<City>",
        "array[('Bonn', 1, null, null)::city, null]",
        "[City[name=Bonn, inhabitants=1, moods=null, founded=null], null]");
    add(
        "numbers[]",
        "List<List<Integer>>",
        "array['{1,2}'::numbers, '{}'::numbers, null::numbers]::numbers[]",
        "[[1, 2], [], null]");
  }

  private void ownTypes() {
    add("mood", "Mood", "'happy'", "happy", "'so-so'", "SO_SO", "'quote \"'", "QUOTE");
    add("feeling", "Feeling", "'so-so'", "SO_SO");
    add("positive", "Integer", "2147483647", Integer.MAX_VALUE);
    add("numbers", "List<Integer>", "'{1,null}'", Arrays.asList(1, null));
    add("matrix", "List<List<Integer>>", "'{{1},{2}}'", "[[1], [2]]");
    add(
        "city",
        "City",
        "('a,\"(', -1, '{so-so,null}', '2024-02-29')",
        "City[name=a,\"(, inhabitants=-1, moods=[SO_SO, null], founded=2024-02-29]",
        "(null, null, null, null)",
        "City[name=null, inhabitants=null, moods=null, founded=null]");
    add(
        "home",
        "Home",
        "('', null, null, null)",
        "Home[name=, inhabitants=null, moods=null, founded=null]");
    add(
        "country",
        "Country",
        "(('Bonn', 1, '{}', null), array[null, ('', null, null, null)::city], 'D')",
        "Country[capital=City[name=Bonn, inhabitants=1, moods=[], founded=null], cities=[null, City[name=, inhabitants=null, moods=null, founded=null]], code=D ]");
  }

  private void documents() {
    add(
        "json",
        "JsonNode",
        " '{\"b\" : 1.10, \"a\" : \"\\u0000\\ud83d\\ude00\"}' ",
        "{\"b\":1.10,\"a\":\"\\u0000😀\"}",
        "' [ 1 , null ] '",
        "[1,null]",
        "'\"\"'",
        "\"\"",
        "'12345678901234567890.12345678901234567890'",
        "12345678901234567890.12345678901234567890",
        "'1e400'",
        "1E+400",
        // Which cannot be told from null itself.
        "'null'",
        "null");
    add(
        "jsonb",
        "JsonNode",
        "'{\"b\": 1.10, \"a\": [true]}'",
        "{\"a\":[true],\"b\":1.10}",
        "'9223372036854775808'",
        "9223372036854775808",
        // PostgreSQL itself keeps the last.
        "'{\"a\": 1, \"a\": 2}'",
        "{\"a\":2}");
    text("jsonpath", "$.\"a\"[*]?(@ > 1)");
  }

  private void networksAndShapes() {
    text("inet", "192.168.0.1/24", "192.168.0.1", "::ffff:1.2.3.4", "::/0");
    text("cidr", "10.0.0.0/8", "::1/128");
    text("macaddr", "08:00:2b:01:02:03");
    text("macaddr8", "08:00:2b:01:02:03:04:05");
    text("point", "(1.5,-0)", "(NaN,Infinity)", "(0.1,5e-324)");
    text("line", "{1,-2,0.1}");
    text("lseg", "[(0,0),(1,1)]");
    text("box", "(1,1),(0,0)");
    text("path", "[(0,0),(1,1)]", "((0,0),(1,1))");
    text("polygon", "((0,0),(1,1),(2,0))");
    text("circle", "<(0,0),0.1>");
  }

  private void catalogTypes() {
    text("oid", "0", "4294967295");
    text("xid", "4294967295");
    text("xid8", "18446744073709551615");
    text("cid", "1");
    text("tid", "(4294967295,65535)");
    text("pg_lsn", "0/0", "FFFFFFFF/FFFFFFFF");
    text("regtype", "integer");
    text("regclass", "pg_class");
    text("pg_snapshot", "10:20:10,14,15");
    text("refcursor", "a cursor");
    add("int2vector", "List<Short>", "'1 -2'", List.of((short) 1, (short) -2));
    add("oidvector", "List<String>", "'1 4294967295'", List.of("1", "4294967295"));
  }
}
