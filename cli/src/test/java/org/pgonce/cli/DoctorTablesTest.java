package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What doctor finds in pgonce's own tables. */
@PgTest(PgOnceInstalled.class)
@Tag("versions")
class DoctorTablesTest {

  private TestDatabase database;
  private Cli cli;

  @BeforeEach
  void open(TestDatabase fresh) {
    database = fresh;
    cli = new Cli(fresh.login());
  }

  @Test
  void h34_rowSecurityThatCameAfterTheStartIsToldWithWhatEndsIt() throws Exception {
    assertThat(DoctorFindings.names(cli)).doesNotContain("ROW_SECURITY");
    database.execute(
        "alter table pgonce.notification enable row level security, force row level security");
    var finding = DoctorFindings.one(cli, "ROW_SECURITY");
    assertThat(finding.get("what").asString()).endsWith(" for table pgonce.notification");
    database.execute(finding.get("advice").asString());
    assertThat(DoctorFindings.names(cli)).doesNotContain("ROW_SECURITY");
  }

  /** They are counted to 100,000. */
  @Test
  void aCountThatHasEndedIsSaidToBeAtLeastThat() throws Exception {
    database.execute(
        """
        select pgonce.install_channel('slow', 'EXACTLY_ONCE', 'published', max_rate => 1);
        set session_replication_role = replica;
        insert into pgonce.notification (id, subscription_id, created_at, payload) select n, s.id, now(), '1' from pgonce.subscription s, generate_series(1, 100001) n where s.of_channel = 'slow';
        insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload) select s.id, 200000 + n, 1, now(), 'REJECTED', '', '1' from pgonce.subscription s, generate_series(1, 100001) n where s.of_channel = 'slow';
        """);
    assertThat(DoctorFindings.one(cli, "RATE_TOO_LOW").get("what").asString())
        .endsWith(
            ": at least 100000 wait, and 1 a second may begin, which takes at least 1 day 03:46:40");
    assertThat(DoctorFindings.one(cli, "DEAD_LETTERS").get("what").asString())
        .endsWith(": at least 100000 dead letters");
  }
}
