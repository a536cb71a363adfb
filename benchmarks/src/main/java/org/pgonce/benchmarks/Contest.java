package org.pgonce.benchmarks;

import java.util.ArrayList;
import java.util.List;
import org.pgonce.benchmarks.work.Entrant;
import org.pgonce.benchmarks.work.Plan;
import org.pgonce.benchmarks.work.Way;

/** Those that are compared, each with a database of its own on the run's server. */
final class Contest {

  private final BenchmarkDatabase place;
  private final List<Entrant> entrants = new ArrayList<>();

  Contest(BenchmarkDatabase place) {
    this.place = place;
  }

  Contest with(Way way, Plan plan) throws Exception {
    return with(way.label(), way, plan);
  }

  Contest with(String label, Way way, Plan plan) throws Exception {
    entrants.add(Entrant.prepare(label, way, plan, place.another()));
    return this;
  }

  List<Entrant> entrants() {
    return List.copyOf(entrants);
  }
}
