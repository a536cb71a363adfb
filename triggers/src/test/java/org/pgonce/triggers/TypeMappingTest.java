package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/** What each PostgreSQL type is in Java, from the writer's row to the handler's record. */
@PgTest(PgOnceInstalled.class)
class TypeMappingTest {

  enum Mood {
    HAPPY,
    @JsonProperty("so-so")
    SO_SO
  }

  record City(String name, @Nullable Integer inhabitants) {}

  record Settings(boolean dark, List<String> tags) {}

  @SuppressWarnings("ArrayRecordComponent") // what is tested
  record Sample(
      long bigInt,
      int plainInt,
      short smallInt,
      BigDecimal exact,
      double ratio,
      boolean flag,
      String words,
      Mood mood,
      Instant at,
      OffsetDateTime atToo,
      LocalDateTime local,
      LocalDate day,
      LocalTime hour,
      UUID uuid,
      JsonNode document,
      Map<String, Object> attributes,
      Settings settings,
      List<Integer> numbers,
      String[] names,
      int[][] grid,
      byte[] raw,
      String address,
      String took,
      Duration tookToo,
      City city,
      String span,
      Optional<String> absent,
      @Nullable String nothing) {}

  @Test
  void h23_aRowArrivesAsItWasWritten(TestDatabase database) throws Exception {
    database.execute(
        """
        create type mood as enum ('HAPPY', 'so-so');
        create type city as (name text, inhabitants int);
        create table sample (
          big_int bigint not null, plain_int int not null, small_int smallint not null, exact numeric, ratio float8 not null,
          flag boolean not null, words text, mood mood, at timestamptz, at_too timestamptz, local timestamp, day date, hour time, uuid uuid,
          document jsonb, attributes json, settings jsonb, numbers int[], names varchar[], grid int[], raw bytea, address inet,
          took interval, took_too interval, city city, span int4range, absent text, nothing text)
        """);
    var sample =
        handled(
            database,
            Sample.class,
            """
            insert into sample values (9223372036854775807, -2147483648, -32768, 1.10, 0.1, true, E'a"\\\\\\u00e4\\U0001F600\\n', 'so-so',
              '2024-02-29 23:59:59.123456+14', '0001-01-01 00:00+00', '2024-02-29 23:59:59.123456', '9999-12-31', '23:59:59.999999',
              'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"price": 1.10}', '{"a": [1, null]}', '{"dark": true, "tags": ["x"]}',
              '{1,null,3}', '{a,"b,c"}', '{{1,2},{3,4}}', '\\x00ff', '192.168.0.1/24', '1 mon 2 days', '26 hours', ('Bonn', null),
              '[1,5)', null, null)
            """);

    assertThat(sample.bigInt()).isEqualTo(Long.MAX_VALUE);
    assertThat(sample.plainInt()).isEqualTo(Integer.MIN_VALUE);
    assertThat(sample.smallInt()).isEqualTo(Short.MIN_VALUE);
    assertThat(sample.exact()).isEqualTo(new BigDecimal("1.10"));
    assertThat(sample.ratio()).isEqualTo(0.1);
    assertThat(sample.flag()).isTrue();
    assertThat(sample.words()).isEqualTo("a\"\\ä😀\n");
    assertThat(sample.mood()).isEqualTo(Mood.SO_SO);
    assertThat(sample.at()).isEqualTo("2024-02-29T09:59:59.123456Z");
    assertThat(sample.atToo()).isEqualTo("0001-01-01T00:00Z");
    assertThat(sample.local()).isEqualTo("2024-02-29T23:59:59.123456");
    assertThat(sample.day()).isEqualTo("9999-12-31");
    assertThat(sample.hour()).isEqualTo("23:59:59.999999");
    assertThat(sample.uuid()).hasToString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
    assertThat(sample.document()).hasToString("{\"price\":1.10}");
    assertThat(sample.attributes().toString()).isEqualTo("{a=[1, null]}");
    assertThat(sample.settings()).isEqualTo(new Settings(true, List.of("x")));
    assertThat(sample.numbers()).containsExactly(1, null, 3);
    assertThat(sample.names()).containsExactly("a", "b,c");
    assertThat(sample.grid()).isDeepEqualTo(new int[][] {{1, 2}, {3, 4}});
    assertThat(sample.raw()).containsExactly(0, 255);
    assertThat(sample.address()).isEqualTo("192.168.0.1/24");
    assertThat(sample.took()).isEqualTo("P1M2D");
    assertThat(sample.tookToo()).isEqualTo(Duration.ofHours(26));
    assertThat(sample.city()).isEqualTo(new City("Bonn", null));
    assertThat(sample.span()).isEqualTo("[1,5)");
    assertThat(sample.absent()).isEmpty();
    assertThat(sample.nothing()).isNull();
  }

  record Numbers(
      BigDecimal huge, BigInteger beyondLong, double nan, double infinite, double tiny) {}

  @Tag("all")
  @Test
  void h20_numbersAreExactAndNaNAndInfinityAreDoubles(TestDatabase database) throws Exception {
    database.execute(
        """
        create table sample (huge numeric, beyond_long numeric(20,0), nan float8 not null, infinite float8 not null,
          tiny float8 not null)
        """);
    var numbers =
        handled(
            database,
            Numbers.class,
            "insert into sample values (repeat('9', 131000)::numeric, 9223372036854775808, 'NaN', '-Infinity', 5e-324)");

    assertThat(numbers.huge()).isEqualTo(new BigDecimal("9".repeat(131_000)));
    assertThat(numbers.beyondLong()).isEqualTo("9223372036854775808");
    assertThat(numbers.nan()).isNaN();
    assertThat(numbers.infinite()).isEqualTo(Double.NEGATIVE_INFINITY);
    assertThat(numbers.tiny()).isEqualTo(Double.MIN_VALUE);
  }

  private static <T> T handled(TestDatabase database, Class<T> type, String insert)
      throws Exception {
    var channel = TriggerChannel.on("sample", type).afterInsert().build();
    var handled = new CopyOnWriteArrayList<T>();
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.install(channel);
      database.execute(insert);
      pgonce.listen(channel, (added, tx) -> handled.add(added.payload())).start();
      await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(
              () -> {
                assertThat(OnCall.deadLetters(database, channel)).isEmpty();
                assertThat(handled).hasSize(1);
              });
    }
    return handled.get(0);
  }
}
