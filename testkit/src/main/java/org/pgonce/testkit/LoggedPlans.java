package org.pgonce.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.opentest4j.TestAbortedException;

/**
 * The plans of everything that a server has run, statements in functions included, as auto_explain
 * logs them. The server is one with LLVM, and compiles what PostgreSQL's default thresholds say.
 *
 * @param plans one text each, as JSON
 */
public record LoggedPlans(List<String> plans) {

  /** For {@link PackagedServer#start(Map)}. */
  public static final Map<String, String> SETTINGS =
      Map.of(
          "shared_preload_libraries", "auto_explain,pg_stat_statements",
          "auto_explain.log_min_duration", "0",
          "auto_explain.log_nested_statements", "on",
          "auto_explain.log_format", "json",
          "log_line_prefix", "");

  // To the end of its line.
  private static final Pattern QUERY = Pattern.compile("\"Query Text\": \"(.*)\",");
  private static final Pattern COST = Pattern.compile("\"Total Cost\": ([0-9.]+)");
  private static final String COMPILED = "\"JIT\": {";

  // PostgreSQL's disable_cost, until 17: what a plan costs that has nothing but what is disabled.
  private static final double DISABLED = 1e10;

  /** A database of a server that compiles; skips the test where there is none. */
  public static TestDatabase database(PackagedServer server) {
    var database = server.createDatabase();
    try {
      if (!"t".equals(database.queryString("select pg_jit_available()"))) {
        throw new TestAbortedException(
            "skipped: the installed PostgreSQL has no LLVM to compile statements with (Debian: the package postgresql has it)");
      }
      return database;
    } catch (java.sql.SQLException | RuntimeException e) {
      database.close();
      throw e instanceof RuntimeException unchecked ? unchecked : new IllegalStateException(e);
    }
  }

  /** Those of all that has ended by now. */
  public static LoggedPlans of(PackagedServer server) throws IOException {
    var plans = new ArrayList<String>();
    StringBuilder plan = null;
    for (var line : Files.readAllLines(server.log())) {
      if (line.endsWith("  plan:")) {
        plan = new StringBuilder();
      } else if (plan != null && line.startsWith("\t")) {
        plan.append(line).append('\n');
      } else if (plan != null) {
        plans.add(plan.toString());
        plan = null;
      }
    }
    return new LoggedPlans(plans);
  }

  /** The statements that were compiled, each once. */
  public List<String> compiled() {
    return plans.stream()
        .filter(plan -> plan.contains(COMPILED))
        .map(LoggedPlans::query)
        .distinct()
        .toList();
  }

  /** The statements with a plan that PostgreSQL was told not to make, each once. */
  public List<String> disabled() {
    return plans.stream()
        .filter(plan -> cost(plan) >= DISABLED)
        .map(LoggedPlans::query)
        .distinct()
        .toList();
  }

  /** Whether a statement with this text was run. */
  public boolean has(String text) {
    return plans.stream().map(LoggedPlans::query).anyMatch(query -> query.contains(text));
  }

  private static double cost(String plan) {
    var costs = new TreeSet<Double>();
    COST.matcher(plan).results().forEach(cost -> costs.add(Double.valueOf(cost.group(1))));
    return costs.isEmpty() ? 0 : costs.last();
  }

  private static String query(String plan) {
    var query = QUERY.matcher(plan);
    return query.find() ? query.group(1) : plan;
  }
}
