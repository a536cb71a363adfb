package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.records.Records;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The record of a table by command line; schema pgonce is not there. */
@PgTest
class RecordTest {

  private static final String TABLE = "app.\"Odd.Name\"";

  private TestDatabase database;

  @BeforeEach
  void create(TestDatabase fresh) throws Exception {
    database = fresh;
    database.execute(
        "create schema app; create table app.\"Odd.Name\" (id bigint primary key, name text)");
  }

  @Test
  void itPrintsWhatTheLibraryDoes() throws Exception {
    var cli = new Cli(database.login());
    var printed = cli.run("record", TABLE).ends(0);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(printed.out()).isEqualTo(Records.print(connection, TABLE));
    }
    assertThat(printed.err()).isEmpty();
    assertThat(printed.out()).contains("long id", "@Nullable String name");
    var json = cli.run("record", TABLE, "-o", "json").ends(0).json();
    assertThat(json.get("table").asString()).isEqualTo(TABLE);
    assertThat(json.get("source").asString()).isEqualTo(printed.out());
  }

  @Test
  void itNeedsNoRightOnTheTable() throws Exception {
    var reader = new Cli(database.loginRole("reader"));
    assertThat(reader.run("record", TABLE).ends(0).out()).contains("long id");
  }

  @Test
  void whatIsNoTableIsRefusedInWords() {
    var cli = new Cli(database.login());
    assertThat(cli.run("record", "app.nothing").ends(1).err())
        .contains("cannot print a record", "app.nothing");
    assertThat(cli.run("record", "no name").ends(2).err())
        .startsWith("pgonce: ")
        .contains("«no name»", "app.author")
        .doesNotContain("\tat ");
    assertThat(cli.run("record").ends(2).err()).contains("TABLE");
  }
}
