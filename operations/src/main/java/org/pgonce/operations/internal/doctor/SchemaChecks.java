package org.pgonce.operations.internal.doctor;

import static org.pgonce.operations.internal.doctor.Finding.Severity.ERROR;
import static org.pgonce.operations.internal.doctor.Finding.Severity.WARNING;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.pgonce.internal.store.Schema;
import org.pgonce.operations.internal.sql.Statements;

/** Whether the schema is the one of this release. */
final class SchemaChecks {

  private static final Pattern FUNCTION =
      Pattern.compile(
          "(?s)CREATE OR REPLACE FUNCTION (pgonce(?:_private)?\\.\\w+)\\(.*?\\nAS \\$\\$(.*?)\\$\\$;");

  private static final String BODIES =
      """
      SELECT n.nspname || '.' || p.proname AS name, p.prosrc AS body FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
       WHERE n.nspname IN ('pgonce', 'pgonce_private') ORDER BY 1
      """;

  private SchemaChecks() {}

  static List<Finding> version(SchemaState state) {
    return state.problems().stream()
        .map(
            problem ->
                problem.equals(SchemaState.NOT_SEEN)
                    ? new Finding(
                        ERROR,
                        "SCHEMA",
                        problem,
                        "The schema was not examined.",
                        "pgonce grants ROLE --to look prints what a DBA has to run.")
                    : new Finding(
                        ERROR,
                        "SCHEMA",
                        problem,
                        "Listeners of this release do not start, or this command line does not know what it sees.",
                        "pgonce migrate check, then pgonce migrate apply."))
        .toList();
  }

  /** Functions whose text is not that of this release. To be asked where the version is. */
  static List<Finding> drift(Statements statements) throws SQLException {
    var ours = new ArrayList<String>();
    var names = new HashSet<String>();
    FUNCTION
        .matcher(Schema.script())
        .results()
        .forEach(
            found -> {
              names.add(found.group(1));
              ours.add(found.group(1) + found.group(2));
            });
    var known = new HashSet<>(ours);
    var different = new TreeSet<String>();
    var there = new HashSet<String>();
    for (var row : statements.rows(BODIES).values()) {
      var name = String.valueOf(row.get(0));
      there.add(name);
      if (names.contains(name) && !known.contains(name + row.get(1))) {
        different.add("function " + name + " has another text than in this release");
      }
    }
    names.stream()
        .filter(name -> !there.contains(name))
        .forEach(name -> different.add("function " + name + " is missing"));
    return different.stream()
        .map(
            what ->
                new Finding(
                    WARNING,
                    "FUNCTION_DRIFT",
                    what,
                    "What it does now is not what was tested. Functions of triggers are compared by Triggers.check, which knows their definitions.",
                    "Look at what was changed, and run pgonce migrate print by psql, which replaces it."))
        .toList();
  }
}
