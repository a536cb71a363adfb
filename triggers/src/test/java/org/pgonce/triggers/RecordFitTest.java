package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.fasterxml.jackson.annotation.JsonAlias;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonValue;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetTime;
import java.util.Date;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A record that does not fit its table is told where, why and what to do. */
@PgTest
class RecordFitTest {

  record Account(int id, double balance, String createdAt) {}

  @Test
  void example_oneLineForEachComponentThatDoesNotFit(TestDatabase database) throws Exception {
    database.execute("create table account (id bigint not null, balance numeric(12,2))");
    var channel = TriggerChannel.on("account", Account.class).afterInsert().build();

    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(channel))
        .isInstanceOf(PgOnceException.class)
        .hasMessage(
            """
            pgonce cannot install channel account_inserted, nothing was changed:
            - Account.id is int, but column id of table public.account is bigint: use long, which holds all of its values
            - Account.balance is double, but column balance of table public.account is numeric(12,2): use BigDecimal, which keeps it exact
            - Account.createdAt has no column created_at in table public.account: add the column, drop the component, or declare it Optional or @Nullable""");
    assertThat(database.queryString("select to_regnamespace('pgonce')")).isNull();
  }

  enum Mood {
    HAPPY,
    @JsonProperty("so-so")
    SO_SO
  }

  record City(String name, int inhabitants) {}

  record AuthorId(@JsonValue long value) {
    @JsonCreator
    static AuthorId of(long value) {
      return new AuthorId(value);
    }
  }

  @SuppressWarnings("ArrayRecordComponent") // what is tested
  record Fits(
      AuthorId id,
      @Nullable String nothing,
      Optional<String> noColumn,
      OptionalInt age,
      BigInteger big,
      long whole,
      Mood mood,
      Mood moodAsText,
      City city,
      List<List<Integer>> grid,
      City[] cities,
      Map<String, Object> attributes,
      @JsonProperty("createdAt") Instant created) {}

  private static final String TYPES =
      """
      create type mood as enum ('HAPPY', 'so-so');
      create type city as (name text, inhabitants int);
      """;

  @Test
  void whatFits(TestDatabase database) throws Exception {
    database.execute(
        TYPES
            + """
            create table t (id bigint, age int, big numeric(30,0) not null, whole numeric(18,0) not null, mood mood, mood_as_text text,
              city city, grid int[], cities city[], attributes jsonb, "createdAt" timestamptz, unread text)
            """);

    assertThat(problems(database, Fits.class)).isEmpty();
  }

  @SuppressWarnings("ArrayRecordComponent") // what is tested
  record Misfits(
      int nullable,
      LocalDateTime at,
      Instant local,
      Date old,
      float rounded,
      String document,
      String number,
      Boolean flag,
      byte[] text,
      List<Integer> many,
      int[] wide,
      City city,
      Mood mood,
      long fraction,
      BigDecimal words,
      Instant created) {}

  @Test
  void whatDoesNot(TestDatabase database) throws Exception {
    database.execute(
        """
        create type mood as enum ('HAPPY', 'sad');
        create type city as (name text, inhabitants bigint);
        create table t (nullable int, at timestamptz, local timestamp, old timestamptz, rounded float8, document jsonb, number int, flag text,
          text text, many text[], wide bigint[], city city, mood mood, fraction numeric not null, words text, "createdAt" timestamptz,
          created_by text)
        """);

    assertThat(problems(database, Misfits.class))
        .containsExactly(
            "Misfits.nullable is int, but column nullable of table public.t may be null: use a type that can be null, or make the column NOT NULL",
            "Misfits.at is LocalDateTime, but column at of table public.t is timestamp with time zone: it is a point in time, use Instant or OffsetDateTime",
            "Misfits.local is Instant, but column local of table public.t is timestamp without time zone: it has no time zone, use LocalDateTime",
            "Misfits.old is Date, but column old of table public.t is timestamp with time zone: it is a point in time, use Instant or OffsetDateTime",
            "Misfits.rounded is float, but column rounded of table public.t is double precision: use double",
            "Misfits.document is String, but column document of table public.t is jsonb: use JsonNode, Map, List or a record",
            "Misfits.number is String, but column number of table public.t is integer: use int or long",
            "Misfits.flag is Boolean, but column flag of table public.t is text: use String",
            "Misfits.text is byte[], but column text of table public.t is text: use String",
            "Misfits.many is List<Integer>, but column many of table public.t is text[]: for its elements, use String",
            "Misfits.wide is int[], but column wide of table public.t is bigint[]: for its elements, use long, which holds all of its values",
            "Misfits.city is City, but column city of table public.t is public.city: City.inhabitants is int, but column inhabitants of the composite type is bigint: use long, which holds all of its values",
            "Misfits.mood is Mood, but column mood of table public.t is public.mood: Mood has no constant for sad: add one, or annotate a constant with @JsonProperty(\"sad\")",
            "Misfits.fraction is long, but column fraction of table public.t is numeric: use BigDecimal, which keeps it exact",
            "Misfits.words is BigDecimal, but column words of table public.t is text: use String",
            "Misfits.created has no column created in table public.t: add the column, drop the component, or declare it Optional or @Nullable");
  }

  record Camel(String createdBy) {}

  @Test
  void aColumnThatIsSpeltOtherwiseIsPointedOut(TestDatabase database) throws Exception {
    database.execute("create table t (\"createdBy\" text)");

    assertThat(problems(database, Camel.class))
        .containsExactly(
            "Camel.createdBy has no column created_by in table public.t: there is \"createdBy\", which @JsonProperty(\"createdBy\") reads");
  }

  record Domains(long id, int positive, String address) {}

  @Test
  void aDomainIsSeenAsItsBaseType(TestDatabase database) throws Exception {
    database.execute(
        """
        create domain positive as int not null check (value > 0);
        create domain positive_too as positive;
        create domain address as inet;
        create table t (id bigint not null, positive positive_too, address address)
        """);

    assertThat(problems(database, Domains.class)).isEmpty();
  }

  enum Level {
    LOW,
    HIGH,
    @JsonProperty("TOP")
    HIGHEST;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  record Levelled(Level level) {}

  /** As the standard codec writes and reads them. */
  @Test
  void aConstantIsReadByWhatItSaysOfItself(TestDatabase database) throws Exception {
    database.execute(
        """
        create type level as enum ('low', 'high', 'TOP');
        create table t (level level)
        """);
    var codec = PayloadCodec.standard();

    assertThat(problems(database, Levelled.class)).isEmpty();
    for (var label : List.of("low", "high", "TOP")) {
      assertThat(codec.decode("\"" + label + "\"", Level.class)).isNotNull();
    }

    database.execute("alter type level rename value 'low' to 'LOW'");
    assertThat(problems(database, Levelled.class))
        .singleElement()
        .asString()
        .contains("Level has no constant for LOW");
    assertThatThrownBy(() -> codec.decode("\"LOW\"", Level.class))
        .isInstanceOf(UnreadablePayloadException.class);
  }

  record Own(OffsetTime at, InetAddress from, Instant number, Locale money, AuthorId text) {}

  /** PostgreSQL writes 03:04:05+05, 10.0.0.0/8, an oid in digits: none of them is read. */
  @Test
  void whatPostgresqlHasATextOfItsOwnForIsAString(TestDatabase database) throws Exception {
    database.execute(
        "create table t (at timetz, \"from\" inet, number oid, money money, text tsvector)");

    assertThat(problems(database, Own.class))
        .hasSize(4)
        .allSatisfy(problem -> assertThat(problem).endsWith(": use String"));
  }

  /** The accessors that the compiler writes have the annotations of their components. */
  record Written(@JsonProperty("e_mail") String mail, @JsonAlias("no") String number) {
    @Override
    public String mail() {
      return mail.strip();
    }

    @Override
    public String number() {
      return number.strip();
    }
  }

  @Test
  void anAccessorOfItsOwnTakesNoAnnotationFromAComponent(TestDatabase database) throws Exception {
    database.execute("create table t (e_mail text not null, no text not null)");

    assertThat(problems(database, Written.class)).isEmpty();
    assertThat(PayloadCodec.standard().decode("{\"e_mail\": \"a\", \"no\": \"1\"}", Written.class))
        .isEqualTo(new Written("a", "1"));
  }

  /** Jackson makes no record of a payload that has both. */
  @Test
  void aComponentThatReadsTwoColumnsIsRefused(TestDatabase database) throws Exception {
    database.execute("create table t (e_mail text not null, no text not null, number text)");

    assertThat(problems(database, Written.class))
        .singleElement()
        .asString()
        .startsWith("Written.number reads each of the columns no, number of table public.t");
  }

  record Generated(int stored, int virtual) {}

  @Test
  void aColumnThatIsGeneratedWhenItIsReadIsRefused(TestDatabase database) throws Exception {
    assumeThat(database.queryLong("select current_setting('server_version_num')::int"))
        .describedAs("virtual generated columns came with PostgreSQL 18")
        .isGreaterThanOrEqualTo(180_000);
    database.execute(
        """
        create table t (base int not null, stored int generated always as (base + 1) stored not null,
          virtual int generated always as (base + 2) virtual not null)
        """);

    assertThat(problems(database, Generated.class))
        .singleElement()
        .asString()
        .startsWith(
            "Generated.virtual reads column virtual of table public.t, which is generated when it is read");
  }

  private static List<String> problems(TestDatabase database, Class<?> type) throws Exception {
    var channel = TriggerChannel.on("t", type).afterInsert().named("c").build();
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.plan(connection, channel).obstacles();
    }
  }
}
