package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A login that may only look. */
@PgTest(PgOnceInstalled.class)
class MonitorTest {

  @Test
  void h34_aMonitorLooksAndIsRefusedEveryChange(TestDatabase database) throws Exception {
    Cli.publish(database, "1");
    Cli.bury(database, 1, "REJECTED", "no");
    var cli = new Cli(database.loginRole("looks", "pgonce_monitor"));
    for (var look :
        List.of(
            "status",
            "channels",
            "listeners",
            "log",
            "dead",
            "peek mails",
            "history mails",
            "migrate check")) {
      cli.run(look.split(" ")).ends(0);
    }
    cli.run("explain", "mails").ends(3);
    cli.run("doctor").ends(3);
    for (var change :
        List.of(
            "pause mails",
            "resume mails",
            "redrive mails --all",
            "discard mails 2",
            "retry-now mails 1",
            "cancel mails 1",
            "publish mails 1",
            "adopt")) {
      for (var really : List.of("", " --dry-run")) {
        var run = cli.run((change + " --because x" + really).split(" ")).ends(1);
        assertThat(run.out()).isEmpty();
        assertThat(run.err())
            .contains("permission denied")
            .contains("GRANT pgonce_admin")
            .contains("pgonce grants");
      }
    }
    assertThat(cli.run("peek", "mails", "--payload").ends(1).err())
        .contains("may not see payloads");
    assertThat(cli.run("history", "mails", "--payload").ends(1).err())
        .contains("may not see payloads");
    assertThat(cli.run("dead", "--payload").ends(1).err())
        .contains("permission denied for table dead_letter")
        .contains("payloads GRANT pgonce_admin");
    assertThat(cli.run("migrate", "down", "--database", database.name()).ends(1).err())
        .contains("42501", "to migrate GRANT pgonce_owner");
    assertThat(
            database.queryLong("select count(*) from pgonce.operation_log where what <> 'INSTALL'"))
        .isZero();
  }
}
