package org.pgonce.benchmarks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.pgonce.benchmarks.figures.Table;
import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.latency.Latencies;
import org.pgonce.benchmarks.plots.Plot;
import org.pgonce.benchmarks.plots.Plot.Point;

/** Latencies for people and programs, each beside that of one that they are compared with. */
record LatencyTable(List<Latencies> all, Latencies base) {

  /** Compared with the first of this label. */
  static LatencyTable of(List<Latencies> all, String base) {
    var found = all.stream().filter(each -> each.entrant().label().equals(base)).findFirst();
    return new LatencyTable(all, found.orElseThrow());
  }

  List<String> lines() {
    var table =
        new Table(
            "commit to handler, microseconds",
            "p50",
            "from .. to",
            "ratio",
            "p99",
            "from .. to",
            "ratio");
    for (var each : all) {
      var row = new ArrayList<String>();
      row.add(each.entrant().label());
      row.addAll(List.of(Table.whole(each.p50())));
      row.add(Table.fine(each.p50().ratioTo(base.p50())));
      row.addAll(List.of(Table.whole(each.p99())));
      row.add(Table.fine(each.p99().ratioTo(base.p99())));
      table.row(row.toArray(String[]::new));
    }
    return table.lines();
  }

  /** Medians of the rounds by percentile. */
  Plot plot(String title) {
    var plot = Plot.ofPercentiles(title, "microseconds from commit to handler");
    for (var each : all) {
      var points =
          each.curve().entrySet().stream()
              .map(at -> new Point(at.getKey(), at.getValue().median()))
              .toList();
      plot.curve(each.entrant().label(), points);
    }
    return plot;
  }

  Map<String, Object> json() {
    var json = new LinkedHashMap<String, Object>();
    for (var each : all) {
      var one = new LinkedHashMap<String, Object>();
      one.put("p50_us", each.p50().spread());
      one.put("p99_us", each.p99().spread());
      one.put("p50_ratio", Turns.rounded(each.p50().ratioTo(base.p50())));
      one.put("p99_ratio", Turns.rounded(each.p99().ratioTo(base.p99())));
      json.put(each.entrant().key(), one);
    }
    return json;
  }
}
