package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H22: a setting that only some types are written by is pinned where the table has such a type. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class PinsTest {

  private static final TriggerChannel<?> SALE =
      TriggerChannel.on("sale", Object.class).afterInsert().named("sale").build();
  private static final String ALL =
      "DateStyle=ISO, YMD; IntervalStyle=iso_8601; TimeZone=UTC; bytea_output=hex; extra_float_digits=1; lc_monetary=C; quote_all_identifiers=off";

  private static final List<String> ODD =
      List.of(
          "TimeZone = 'Asia/Kathmandu'",
          "DateStyle = 'German'",
          "IntervalStyle = 'sql_standard'",
          "bytea_output = 'escape'",
          "extra_float_digits = -15",
          "quote_all_identifiers = on",
          "search_path = ''");

  @Tag("all")
  @ParameterizedTest
  @CsvSource({
    "timestamptz, TimeZone=UTC",
    "timestamptz[], TimeZone=UTC",
    "moment, TimeZone=UTC",
    "interval[], IntervalStyle=iso_8601",
    "bytea, bytea_output=hex",
    "real, extra_float_digits=1",
    "double precision[], extra_float_digits=1",
    "jsonb,",
    "'numeric(9, 2)',",
    "timestamp[],",
    "date,",
    "time,"
  })
  void h22_whatATypeIsWrittenByIsPinned(
      String type, @Nullable String setting, TestDatabase database) throws Exception {
    database.execute(
        "create domain moment as timestamptz; create table sale (id bigint, name text, v %s)"
            .formatted(type));
    PgOnce.using(database.dataSource()).install(SALE);
    assertThat(byType(database)).isEqualTo(setting);
  }

  @Tag("all")
  @ParameterizedTest
  @ValueSource(
      strings = {"money", "regclass", "point", "daterange", "timetz", "mood", "pair", "pair[]"})
  void h22_aTypeThatMayBeWrittenByAnyPinsAll(String type, TestDatabase database) throws Exception {
    database.execute(
        "create type pair as (x real, y real); create type mood as enum ('fine'); create table sale (v "
            + type
            + ")");
    PgOnce.using(database.dataSource()).install(SALE);
    assertThat(byType(database)).isEqualTo(ALL);
  }

  @Test
  @Tag("all")
  void h22_eachTypeIsWrittenTheSameWhateverTheWritersSessionHasSet(TestDatabase database)
      throws Exception {
    database.execute(TypeSamples.TYPES);
    var version = (int) database.queryLong("select current_setting('server_version_num')::integer");
    for (var sample : TypeSamples.of(version)) {
      database.execute(
          // The function too: one that pins more than the next type needs would stay as it is.
          "drop table if exists source, sale; drop function if exists pgonce_triggers.capture_sale; create table source (v %1$s); create table sale (v %1$s); truncate pgonce.notification"
              .formatted(sample.type()));
      for (var value : sample.values()) {
        database.execute("insert into source values (%s)".formatted(value));
      }
      PgOnce.using(database.dataSource()).install(SALE);
      database.execute("insert into public.sale select v from public.source");
      // Within the block only: pgjdbc closes a connection whose DateStyle changes.
      database.execute(
          "do $$ begin set local %s; insert into public.sale select v from public.source; end $$"
              .formatted(String.join("; set local ", ODD)));
      assertThat(
              database.queryString(
                  "select string_agg(payload, '') from (select payload::text from pgonce.notification group by 1 having count(*) % 2 = 1) as of_one_session"))
          .as(sample.type())
          .isNull();
      assertThat(database.queryLong("select count(*) from pgonce.notification"))
          .isEqualTo(2L * sample.values().size());
    }
  }

  @Test
  void h22_aColumnThatIsAddedIsPinnedByTheNextInstallation(TestDatabase database) throws Exception {
    database.execute("create table sale (id bigint, name text, at timestamp[], doc jsonb)");
    PgOnce.using(database.dataSource()).install(SALE);
    assertThat(byType(database)).isNull();
    assertThat(check(database)).isEmpty();

    database.execute("alter table sale add sold_at timestamptz, add price real");
    assertThat(check(database))
        .singleElement()
        .asString()
        .contains("was made for the table as it was before it was altered: install the channel");
    PgOnce.using(database.dataSource()).install(SALE);
    assertThat(check(database)).isEmpty();
    assertThat(byType(database)).isEqualTo("TimeZone=UTC; extra_float_digits=1");
    database.execute(
        "set extra_float_digits = -3; set timezone = 'Asia/Tokyo'; insert into sale (price, sold_at) values (0.1234567, '2024-02-29 12:00Z')");
    assertThat(
            database.queryString(
                "select payload ->> 'price' || ' ' || (payload ->> 'sold_at') from pgonce.notification where subscription_id > 0"))
        .isEqualTo("0.1234567 2024-02-29T12:00:00+00:00");

    database.execute("alter table sale drop price, drop sold_at");
    assertThat(check(database)).as("one too many does no harm").isEmpty();
  }

  /** It is printed for whatever table. */
  @Test
  void h22_whatIsPrintedPinsAll(TestDatabase database) throws Exception {
    database.execute("create table sale (id bigint)");
    database.execute(SALE.print());
    assertThat(byType(database)).isEqualTo(ALL);
    assertThat(check(database)).isEmpty();
  }

  private static List<String> check(TestDatabase database) throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.check(connection, SALE);
    }
  }

  private static @Nullable String byType(TestDatabase database) throws SQLException {
    return database.queryString(
        """
        select string_agg(s.setting, '; ' order by s.setting collate "C") from pg_proc p, unnest(p.proconfig) as s (setting)
         where p.proname = 'capture_sale' and s.setting not like 'search_path=%'
        """);
  }
}
