package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What doctor finds in pgonce's own tables, and in watched ones. */
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

  private void watch() throws Exception {
    database.execute(
        """
        create table author (id bigint) partition by range (id);
        create table young partition of author for values from (0) to (9);
        create function pgonce_triggers.capture_author() returns trigger language plpgsql as 'begin return null; end';
        create trigger pgonce_author after insert on author for each row execute function pgonce_triggers.capture_author();
        """);
  }

  private String disabled() {
    return DoctorFindings.one(cli, "TRIGGER_DISABLED").get("what").asString();
  }

  @Test
  void h09_aPartitionWhoseTriggerIsDisabledIsFound() throws Exception {
    watch();
    assertThat(DoctorFindings.names(cli)).doesNotContain("TRIGGER_DISABLED");
    database.execute("alter table young disable trigger all");
    assertThat(disabled()).isEqualTo("trigger \"pgonce_author\" of table public.young is disabled");
    database.execute("alter table author disable trigger pgonce_author");
    assertThat(disabled())
        .isEqualTo("trigger \"pgonce_author\" of table public.author is disabled");
  }

  @ParameterizedTest
  @CsvSource({
    "'database %1$s', 'each role in database %1$s'",
    "'role \"%1$s_writer\"', 'role %1$s_writer in each database'",
    "'role \"%1$s_writer\" in database %1$s', 'role %1$s_writer in database %1$s'"
  })
  void h08_sessionsWhoseTriggersDoNotFireAreTold(String whose, String told) throws Exception {
    var role = database.name() + "_writer";
    database.execute("create role \"%s\"".formatted(role));
    try {
      watch();
      assertThat(DoctorFindings.names(cli)).doesNotContain("REPLICA_ROLE");
      database.execute(
          "alter " + whose.formatted(database.name()) + " set session_replication_role = replica");
      var finding = DoctorFindings.one(cli, "REPLICA_ROLE");
      assertThat(finding.get("what").asString())
          .endsWith(" for " + told.formatted(database.name()));
      database.execute(finding.get("advice").asString().replaceFirst(",.*", ""));
      assertThat(DoctorFindings.names(cli)).doesNotContain("REPLICA_ROLE");
    } finally {
      database.execute("drop role \"%s\"".formatted(role));
    }
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
