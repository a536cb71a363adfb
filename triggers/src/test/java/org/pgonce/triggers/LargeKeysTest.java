package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/** Statements whose delivery keys have more than the 1 GB that PostgreSQL allows for one value. */
@PgTest(PgOnceInstalled.class)
class LargeKeysTest {

  /** 500 characters of four bytes each, which is the longest that a key can be. */
  @Test
  @Tag("all")
  void h04_theKeysOfOneStatementMayHaveMoreThanOneGigabyte(TestDatabase database) throws Exception {
    var rows = 550_000;
    database.execute("create table thing (id int not null)");
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.on("thing", JsonNode.class)
                .afterInsert()
                .deliveryKeySql("repeat('\uD83D\uDE00', 494) || lpad(new.id::text, 6, '0')")
                .build());
    database.execute("insert into thing select generate_series(1, %d)".formatted(rows));
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification n join pgonce.delivery_key k on k.id = n.id where subscription_id > 0"))
        .isEqualTo(rows);
  }
}
