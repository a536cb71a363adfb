package org.pgonce.benchmarks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.benchmarks.figures.Table;
import tools.jackson.databind.JsonNode;

/**
 * The figures of benchmarks that ran twice, with fsync and synchronous_commit on and off: medians
 * and ratios side by side, by their place in the last lines.
 */
final class TwoColumns {

  private static final String MEDIAN = "median";

  private final Table table = new Table("", "fsync on", "off");

  /** Adds a benchmark's, which have the same shape. */
  TwoColumns add(String name, JsonNode on, JsonNode off) {
    var others = figures(off);
    figures(on)
        .forEach(
            (place, figure) ->
                table.row(name + " " + place, shown(figure), shown(others.get(place))));
    return this;
  }

  List<String> lines() {
    return table.lines();
  }

  private static Map<String, Double> figures(JsonNode line) {
    var figures = new LinkedHashMap<String, Double>();
    collect(line.path("figures"), List.of(), figures);
    return figures;
  }

  private static void collect(JsonNode node, List<String> place, Map<String, Double> figures) {
    if (node.path(MEDIAN).isNumber()) {
      figures.put(String.join(" ", place), node.path(MEDIAN).doubleValue());
    } else if (node.isArray()) {
      node.forEach(each -> collect(each, with(place, kind(each)), figures));
    } else if (node.isObject()) {
      node.properties()
          .forEach(each -> collect(each.getValue(), with(place, each.getKey()), figures));
    } else if (node.isFloatingPointNumber()) {
      figures.put(String.join(" ", place), node.doubleValue());
    }
  }

  /** Of one in an array: all of it that is no figure. */
  private static String kind(JsonNode one) {
    var parts = new ArrayList<String>();
    for (var each : one.properties()) {
      var value = each.getValue();
      if (value.isString()) {
        parts.add(value.stringValue());
      } else if (value.isIntegralNumber() || value.isBoolean()) {
        parts.add(each.getKey() + " " + value);
      }
    }
    return String.join(" ", parts);
  }

  private static List<String> with(List<String> place, String next) {
    var longer = new ArrayList<>(place);
    longer.add(next);
    return longer;
  }

  private static String shown(@Nullable Double figure) {
    if (figure == null) {
      return "";
    }
    return figure < 100 ? Table.fine(figure) : Table.whole(figure);
  }
}
