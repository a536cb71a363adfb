package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H22: a setting that only some types are written by is pinned where the table has such a type. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class PinsTest {

  private static final TriggerChannel<?> SALE =
      TriggerChannel.on("sale", Object.class).afterInsert().named("sale").build();
  private static final String BY_TYPE =
      "extra_float_digits=1,lc_monetary=C,quote_all_identifiers=off";

  @ParameterizedTest
  @CsvSource({
    "real",
    "double precision[]",
    "money",
    "regclass",
    "point",
    "daterange",
    "mood",
    "pair",
    "pair[]"
  })
  void h22_whatATypeIsWrittenByIsPinned(String type, TestDatabase database) throws Exception {
    database.execute(
        "create type pair as (x real, y real); create type mood as enum ('fine'); create table sale (v "
            + type
            + ")");
    PgOnce.using(database.dataSource()).install(SALE);
    assertThat(byType(database)).isEqualTo(BY_TYPE);
  }

  @Test
  void h22_aColumnThatIsAddedIsPinnedByTheNextInstallation(TestDatabase database) throws Exception {
    database.execute(
        "create table sale (id bigint, name text, at timestamptz[], raw bytea, doc jsonb)");
    PgOnce.using(database.dataSource()).install(SALE);
    assertThat(byType(database)).isNull();
    assertThat(check(database)).isEmpty();

    database.execute("alter table sale add price real");
    assertThat(check(database))
        .singleElement()
        .asString()
        .contains("was made for the table as it was before it was altered: install the channel");
    PgOnce.using(database.dataSource()).install(SALE);
    assertThat(check(database)).isEmpty();
    assertThat(byType(database)).isEqualTo(BY_TYPE);
    database.execute("set extra_float_digits = -3; insert into sale (price) values (0.1234567)");
    assertThat(
            database.queryString(
                "select payload ->> 'price' from pgonce.notification where subscription_id > 0"))
        .isEqualTo("0.1234567");

    database.execute("alter table sale drop price");
    assertThat(check(database)).as("one too many does no harm").isEmpty();
  }

  /** It is printed for whatever table. */
  @Test
  void h22_whatIsPrintedPinsAll(TestDatabase database) throws Exception {
    database.execute("create table sale (id bigint)");
    database.execute(SALE.print());
    assertThat(byType(database)).isEqualTo(BY_TYPE);
    assertThat(check(database)).isEmpty();
  }

  private static List<String> check(TestDatabase database) throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.check(connection, SALE);
    }
  }

  private static String byType(TestDatabase database) throws SQLException {
    return database.queryString(
        """
        select string_agg(s.setting, ',' order by s.setting) from pg_proc p, unnest(p.proconfig) as s (setting)
         where p.proname = 'capture_sale' and s.setting ~ '^(extra_float|lc_monetary|quote_all)'
        """);
  }
}
