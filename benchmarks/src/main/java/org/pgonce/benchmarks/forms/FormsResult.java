package org.pgonce.benchmarks.forms;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.pgonce.benchmarks.figures.Turns;

/**
 * What a run has come to.
 *
 * @param figures in the order of the operations and kinds
 */
public record FormsResult(List<Figure> figures) {

  public FormsResult {
    figures = List.copyOf(figures);
  }

  static FormsResult of(List<Contender> contenders) {
    return new FormsResult(
        contenders.stream().map(contender -> figure(contender, contenders)).toList());
  }

  private static Figure figure(Contender contender, List<Contender> all) {
    var none = turns(all, contender, Kind::hasNoTrigger);
    if (none == null) {
      throw new IllegalStateException(
          contender.operation().label() + " is not measured without a trigger");
    }
    var byHand =
        contender.kind().channel() == null
            ? null
            : turns(all, contender, contender.kind()::isLimitedBy);
    return Figure.of(contender, none, byHand);
  }

  /** Of the first kind that is so, at the same operation. */
  private static @Nullable Turns turns(
      List<Contender> all, Contender contender, Predicate<Kind> which) {
    for (var other : all) {
      if (other.isOf(contender.operation()) && which.test(other.kind())) {
        return other.turns();
      }
    }
    return null;
  }

  /** A table for people. */
  public List<String> lines() {
    var lines = new ArrayList<String>();
    var operation = "";
    for (var figure : figures) {
      if (!figure.operation().equals(operation)) {
        operation = figure.operation();
        lines.add("");
        lines.add(Figure.headings(operation));
      }
      lines.add(figure.line());
    }
    return lines;
  }
}
