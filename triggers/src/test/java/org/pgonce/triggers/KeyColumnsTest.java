package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collections;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Keys of numbers and uuids, which need no escapes. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class KeyColumnsTest {

  private static final ChannelOptions ORDERED =
      ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_PASSES);

  @Test
  void s12_aLongKeyOfManyShortColumnsIsKnownByItsHash(TestDatabase database) throws Exception {
    var columns = IntStream.rangeClosed(1, 14).mapToObj(i -> "c" + i).toArray(String[]::new);
    var types = String.join(" uuid, ", columns) + " uuid";
    database.execute("create table wide (%s)".formatted(types));
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.on("wide", Object.class)
                .afterInsert()
                .options(ORDERED)
                .deliveryKey(columns)
                .named("delivered")
                .build(),
            TriggerChannel.on("wide", Object.class)
                .afterInsert()
                .options(ORDERED)
                .orderKey(columns)
                .named("ordered")
                .build());
    database.execute(
        "insert into wide values (%s)"
            .formatted(String.join(", ", Collections.nCopies(14, "gen_random_uuid()"))));
    assertThat(
            database.queryString(
                """
                select string_agg(coalesce(n.delivery_key, n.order_key), ' ' order by n.id) from pgonce.notification n
                  join pgonce.subscription s on s.id = n.subscription_id
                """))
        .matches("sha256:([0-9a-f]{64}) sha256:\\1");
  }

  /** A limit per key finds what has failed by its key. */
  @Test
  void h10_anEmptyTextInAColumnOfANumberIsNoOrderKey(TestDatabase database) throws Exception {
    var options = ChannelOptions.DEFAULT.withMaxPerKey(1);
    database.execute("create table mail (id bigint)");
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.on("mail", Object.class)
                .afterInsert()
                .options(options)
                .orderKey("id")
                .named("limited")
                .build());
    database.execute("alter table mail alter id type text");
    database.execute("insert into mail values ('1'), ('')");
    assertThat(
            database.queryString(
                "select string_agg(coalesce(nullif(order_key, chr(1) || id), '-'), ', ' order by id) from pgonce.notification where subscription_id > 0"))
        .isEqualTo("1, -");
  }

  @Test
  void h10_aColumnOfANumberThatHoldsTextNowFailsNoWrite(TestDatabase database) throws Exception {
    var ordered = ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_PASSES);
    database.execute("create table mail (id bigint)");
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.on("mail", Object.class)
                .afterInsert()
                .deliveryKey("id")
                .named("keyed")
                .build(),
            TriggerChannel.on("mail", Object.class)
                .afterInsert()
                .orderKey("id")
                .options(ordered)
                .named("ordered")
                .build());
    database.execute("alter table mail alter id type text");
    database.execute(
        """
        insert into mail values ('1'), ('');
        insert into mail values (repeat('x', 501));
        insert into mail select string_agg(md5(g::text), '') from generate_series(1, 1000) g
        """);
    assertThat(
            database.queryString(
                """
                select string_agg(substr(coalesce(delivery_key, nullif(order_key, chr(1) || id), '-'), 1, 7), ' ' order by subscription_id, id)
                  from pgonce.notification where subscription_id > 0
                """))
        .isEqualTo("1 - sha256: sha256: 1 - sha256: sha256:");
  }

  @Test
  void s12_columnsOfNumbersThatHoldTextNowMakeNoTwoRowsOneKey(TestDatabase database)
      throws Exception {
    database.execute("create table mail (a bigint, b bigint)");
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.on("mail", Object.class)
                .afterInsert()
                .deliveryKey("a", "b")
                .named("keyed")
                .build());
    database.execute("alter table mail alter a type text, alter b type text");
    database.execute(
        "insert into mail values ('1:2', '3'), ('1', '2:3'), ('1%3A2', '3'), ('', '1')");
    assertThat(
            database.queryString(
                "select string_agg(delivery_key, ' ' order by delivery_key) from pgonce.notification where subscription_id > 0"))
        .isEqualTo("1%253A2:3 1%3A2:3 1:2%3A3 :1");
  }
}
