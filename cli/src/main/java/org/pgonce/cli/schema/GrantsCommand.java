package org.pgonce.cli.schema;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.Statements;
import org.pgonce.operations.internal.text.Printable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** What a DBA has to run for a login. */
@Command(
    name = "grants",
    description = "Prints the SQL that a DBA has to run for a role; only what it has not yet.")
public final class GrantsCommand extends DatabaseCommand {

  private enum Task {
    listen("pgonce_listener"),
    publish("pgonce_publisher"),
    operate("pgonce_admin"),
    look("pgonce_monitor"),
    install("pgonce_installer"),
    migrate("pgonce_owner");

    private final String group;

    Task(String group) {
      this.group = group;
    }
  }

  private static final String IS_ROLE =
      "SELECT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = ?)";
  // In the session's own path, as MAY_TRIGGER.
  private static final String IS_TABLE =
      "SELECT pg_catalog.to_regclass(CAST(? AS pg_catalog.text)) IS NOT NULL";
  // Null: the group, or the role, is not there.
  private static final String IS_MEMBER =
      "SELECT pg_has_role(r.oid, g.oid, 'USAGE') FROM (VALUES (?, ?)) AS w (role, granted) LEFT JOIN pg_roles r ON r.rolname = w.role LEFT JOIN pg_roles g ON g.rolname = w.granted";
  private static final String GRANT = "SELECT format('GRANT %I TO %I;', ?::text, ?::text)";
  private static final String MAY_CREATE =
      "SELECT has_database_privilege(r.oid, current_database(), 'CREATE') FROM (VALUES (?)) AS w (role) LEFT JOIN pg_roles r ON r.rolname = w.role";
  private static final String GRANT_CREATE =
      "SELECT format('GRANT CREATE ON DATABASE %I TO %I;', current_database(), ?::text)";
  // In the session's own path, where the table is looked for: all else is named in full.
  private static final String MAY_TRIGGER =
      """
      SELECT pg_catalog.has_table_privilege(r.oid, pg_catalog.to_regclass(w.name), 'TRIGGER')
        FROM (SELECT CAST(? AS pg_catalog.name), CAST(? AS pg_catalog.text)) AS w (role, name)
        LEFT JOIN pg_catalog.pg_roles r ON r.rolname OPERATOR(pg_catalog.=) w.role
      """;
  private static final String GRANT_TRIGGER =
      """
      SELECT pg_catalog.format('GRANT TRIGGER ON TABLE %s TO %I;',
        coalesce(CAST(pg_catalog.to_regclass(w.name) AS pg_catalog.text), w.name), w.role)
        FROM (SELECT CAST(? AS pg_catalog.text), CAST(? AS pg_catalog.text)) AS w (name, role)
      """;

  @Parameters(paramLabel = "ROLE", description = "The login, or another role")
  private String role = "";

  @Option(
      names = "--to",
      required = true,
      split = ",",
      paramLabel = "TASK",
      description =
          "What it is to do: listen, publish, operate, look, install (channels), migrate (the schema); several with commas")
  private List<Task> tasks = List.of();

  @Option(
      names = "--table",
      split = ",",
      paramLabel = "TABLE",
      description = "Tables whose channels it installs")
  private List<String> tables = List.of();

  @Override
  protected int run(Database database) {
    if (!tables.isEmpty() && !tasks.contains(Task.install)) {
      throw new UsageException("--table is for channels to install: give --to install as well");
    }
    var sql = new ArrayList<>(database.read(this::missing));
    sql.addAll(database.readInOwnPath(this::missingOnTables));
    var json = new LinkedHashMap<String, @Nullable Object>();
    json.put("role", role);
    json.put("missing", sql);
    output.print(
        terminal(), json, sql.isEmpty() ? "-- nothing is missing" : String.join("\n", sql));
    return ExitStatus.DONE;
  }

  private List<String> missing(Statements statements) throws SQLException {
    var sql = new ArrayList<String>();
    if (!statements.isTrue(IS_ROLE, role)) {
      sql.add("-- role %s is not there".formatted(Printable.line(role)));
    }
    for (var task : tasks) {
      if (!statements.isTrue(IS_MEMBER, role, task.group)) {
        sql.add(statements.text(GRANT, task.group, role));
      }
      if (task == Task.migrate && !statements.isTrue(MAY_CREATE, role)) {
        sql.add(statements.text(GRANT_CREATE, role));
      }
      // Others' last SQL, in explain and pgonce.at_work.
      if (task == Task.look && !statements.isTrue(IS_MEMBER, role, "pg_read_all_stats")) {
        sql.add(statements.text(GRANT, "pg_read_all_stats", role));
      }
    }
    return sql;
  }

  private List<String> missingOnTables(Statements statements) throws SQLException {
    var sql = new ArrayList<String>();
    for (var table : tables) {
      if (!statements.isTrue(IS_TABLE, table)) {
        sql.add("-- table %s is not there".formatted(Printable.line(table)));
      }
      if (!statements.isTrue(MAY_TRIGGER, role, table)) {
        sql.add(statements.text(GRANT_TRIGGER, table, role));
      }
    }
    return sql;
  }
}
