package org.pgonce.benchmarks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.pgonce.benchmarks.drain.Rates;
import org.pgonce.benchmarks.figures.Table;
import org.pgonce.benchmarks.figures.Turns;

/** Rates for people and programs, each beside that of one that they are compared with. */
record RateTable(String what, List<Rates> all, Rates base) {

  /** Compared with the one of this label. */
  static RateTable of(String what, List<Rates> all, String base) {
    var found = all.stream().filter(each -> each.entrant().label().equals(base)).findFirst();
    return new RateTable(what, all, found.orElseThrow());
  }

  List<String> lines() {
    var table = new Table(what, "per second", "from .. to", "ratio");
    for (var each : all) {
      var row = new ArrayList<String>();
      row.add(each.entrant().label());
      row.addAll(List.of(Table.whole(each.perSecond())));
      row.add(Table.fine(each.perSecond().ratioTo(base.perSecond())));
      table.row(row.toArray(String[]::new));
    }
    return table.lines();
  }

  Map<String, Object> json() {
    var json = new LinkedHashMap<String, Object>();
    for (var each : all) {
      var one = new LinkedHashMap<String, Object>();
      one.put("per_second", each.perSecond().spread());
      one.put("ratio", Turns.rounded(each.perSecond().ratioTo(base.perSecond())));
      json.put(each.entrant().key(), one);
    }
    return json;
  }
}
