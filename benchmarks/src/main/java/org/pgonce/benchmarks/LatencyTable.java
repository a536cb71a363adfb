package org.pgonce.benchmarks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.pgonce.benchmarks.figures.Table;
import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.latency.Latencies;
import org.pgonce.benchmarks.plots.Plot;
import org.pgonce.benchmarks.plots.Plot.Point;

/** Latencies for people and programs, each beside those of the ones that they are compared with. */
record LatencyTable(List<Latencies> all, List<Latencies> bases) {

  /** Compared with those of these labels. */
  static LatencyTable of(List<Latencies> all, String... bases) {
    return new LatencyTable(all, Stream.of(bases).map(base -> labelled(all, base)).toList());
  }

  private static Latencies labelled(List<Latencies> all, String label) {
    return all.stream()
        .filter(each -> each.entrant().label().equals(label))
        .findFirst()
        .orElseThrow();
  }

  List<String> lines() {
    var ratios = bases.stream().map(base -> "to " + base.entrant().label()).toList();
    var head = new ArrayList<String>();
    head.add("commit to handler, microseconds");
    head.addAll(List.of("p50", "from .. to"));
    head.addAll(ratios);
    head.addAll(List.of("p99", "from .. to"));
    head.addAll(ratios);
    var table = new Table(head.toArray(String[]::new));
    for (var each : all) {
      var row = new ArrayList<String>();
      row.add(each.entrant().label());
      row.addAll(List.of(Table.whole(each.p50())));
      bases.forEach(base -> row.add(Table.fine(each.p50().ratioTo(base.p50()))));
      row.addAll(List.of(Table.whole(each.p99())));
      bases.forEach(base -> row.add(Table.fine(each.p99().ratioTo(base.p99()))));
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

  /** The ratios to the first of the bases, and to the others by their keys. */
  Map<String, Object> json() {
    var json = new LinkedHashMap<String, Object>();
    for (var each : all) {
      var one = new LinkedHashMap<String, Object>();
      one.put("p50_us", each.p50().spread());
      one.put("p99_us", each.p99().spread());
      for (var base : bases) {
        var to = base.equals(bases.get(0)) ? "" : "_to_" + base.entrant().key();
        one.put("p50_ratio" + to, Turns.rounded(each.p50().ratioTo(base.p50())));
        one.put("p99_ratio" + to, Turns.rounded(each.p99().ratioTo(base.p99())));
      }
      json.put(each.entrant().key(), one);
    }
    return json;
  }
}
