package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A table with triggers per row, whose partitions belong to another role. */
@PgTest
class PartitionRightsTest {

  private static final String STORED =
      "select count(*) from pgonce.notification where subscription_id > 0";

  private String owner;

  @BeforeEach
  void owner(TestDatabase database) throws SQLException {
    owner = database.loginRole("keeper").user();
    PgOnce.using(database.dataSource()).install();
  }

  /** As where a job of the administrator's makes the partition of the next month. */
  @Test
  void h34_aPartitionOfAnotherRoleKeepsNoListenerFromStarting(TestDatabase database)
      throws Exception {
    database.execute(
        "create table log (id int not null) partition by range (id); alter table log owner to %s"
            .formatted(owner));
    var channel = TriggerChannel.on("log", Object.class).afterInsert().named("log").build();
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("create table log_1 partition of log for values from (0) to (10)");
    database.execute("insert into log values (1)");

    assertThat(database.queryLong(STORED)).isOne();
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, channel)).isEmpty();
    }
  }

  @Test
  void h34_whoMayNotPutTriggersOnAPartitionIsToldWhatToGrant(TestDatabase database)
      throws Exception {
    database.execute(
        """
        create table log (id int not null) partition by range (id);
        alter table log owner to %1$s;
        create table log_1 partition of log for values from (0) to (10) partition by range (id);
        create table log_2 partition of log_1 for values from (0) to (5)
        """
            .formatted(owner));
    var login = database.loginRole("deployer", "pgonce_installer", owner);
    var grant = "GRANT TRIGGER ON public.log_1, public.log_2 TO " + login.user();
    var channel = TriggerChannel.on("log", Object.class).afterInsert().named("log").build();

    try (var connection = login.dataSource().getConnection()) {
      assertThat(Triggers.plan(connection, channel).obstacles())
          .anyMatch(obstacle -> obstacle.contains(grant));
    }
    assertThatThrownBy(() -> PgOnce.using(login.dataSource()).install(channel))
        .hasMessageContaining(grant);
    database.execute(grant);
    PgOnce.using(login.dataSource()).install(channel);
    database.execute("insert into log values (1)");
    assertThat(database.queryLong(STORED)).isOne();
  }
}
