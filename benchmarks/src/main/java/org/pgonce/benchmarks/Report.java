package org.pgonce.benchmarks;

import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import tools.jackson.databind.json.JsonMapper;

/** What a run prints in the end: tables for people, the conditions, one line of JSON. */
final class Report {

  private final Map<String, Object> json = new LinkedHashMap<>();
  private final PrintWriter out;
  private final Conditions conditions;

  Report(String benchmark, Conditions conditions, PrintWriter out) {
    this.conditions = conditions;
    this.out = out;
    json.put("benchmark", benchmark);
  }

  /** For the line of JSON. */
  Report put(String name, Object value) {
    json.put(name, value);
    return this;
  }

  /** What the run was made with and what it came to; ends the output. */
  void print(List<String> lines, Object figures) {
    var told = conditions.atEnd();
    lines.forEach(out::println);
    out.println();
    out.println(
        told.entrySet().stream()
            .map(each -> each.getKey() + " " + each.getValue())
            .collect(Collectors.joining(", ")));
    json.put("conditions", told);
    json.put("figures", figures);
    out.println(JsonMapper.shared().writeValueAsString(json));
    out.flush();
  }
}
