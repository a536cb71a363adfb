package org.pgonce.benchmarks;

import java.util.ArrayList;
import java.util.List;
import org.pgonce.benchmarks.work.Entrant;
import org.pgonce.benchmarks.work.Way;

/** Gives each way a database of its own on the run's server. */
final class Contest {

  private Contest() {}

  static List<Entrant> prepare(BenchmarkDatabase place, List<? extends Way> ways)
      throws Exception {
    var entrants = new ArrayList<Entrant>();
    for (var way : ways) {
      entrants.add(Entrant.prepare(way, place.another()));
    }
    return entrants;
  }
}
