package org.pgonce.console.internal.site;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.pgonce.console.internal.look.History;
import org.pgonce.console.internal.look.History.Point;
import org.pgonce.console.internal.page.Section.Line;
import org.pgonce.console.internal.page.Section.Plot;
import org.pgonce.console.internal.page.Words;

/** Plots of the looks that were taken while somebody watched. */
final class Plots {

  // As channel_gauges counts.
  private static final long MAYBE_MORE = 100_000;

  private Plots() {}

  static List<Plot> ofAll(History history) {
    var waiting = history.waiting();
    var stored = history.storedPerSecond();
    var finished = history.finishedPerSecond();
    return List.of(
        plot("waiting", "What waits", waiting),
        new Plot(
            "rate",
            "Rate",
            "Stored %s a second, finished %s a second%s. What is published with a delay is in neither. The server tells it about a second late."
                .formatted(rate(stored), rate(finished), most(List.of(stored, finished))),
            lines(List.of("stored a second", "finished a second"), List.of(stored, finished))));
  }

  static Plot ofChannel(History history, String channel) {
    return plot("waiting", "What waits in the channel", history.waiting(channel));
  }

  private static Plot plot(String id, String heading, List<Point> points) {
    var now = points.isEmpty() ? 0 : (long) points.get(points.size() - 1).value();
    return new Plot(
        id,
        heading,
        "%s wait%s%s."
            .formatted(
                Words.count(now),
                now < MAYBE_MORE ? "" : " (100,000 of a subscription at the most are counted)",
                most(List.of(points))),
        lines(List.of("waiting"), List.of(points)));
  }

  private static String rate(List<Point> points) {
    return points.isEmpty()
        ? "(not known yet)"
        : String.format(Locale.ROOT, "%.1f", points.get(points.size() - 1).value());
  }

  private static String most(List<List<Point>> series) {
    return series.get(0).size() < 2
        ? "; the line grows while the page is open"
        : "; the most of the last %s s: %s"
            .formatted((long) Math.ceil(span(series)), Words.count((long) Math.ceil(top(series))));
  }

  private static double top(List<List<Point>> series) {
    return series.stream().flatMap(List::stream).mapToDouble(Point::value).max().orElse(0);
  }

  private static double span(List<List<Point>> series) {
    return series.stream().flatMap(List::stream).mapToDouble(Point::secondsAgo).max().orElse(0);
  }

  private static List<Line> lines(List<String> names, List<List<Point>> series) {
    var top = Math.max(1, top(series));
    var span = Math.max(1, span(series));
    var looks = List.of("first", "second");
    return IntStream.range(0, names.size())
        .mapToObj(i -> new Line(names.get(i), points(series.get(i), top, span), looks.get(i)))
        .toList();
  }

  private static String points(List<Point> points, double top, double span) {
    return points.stream()
        .map(
            one ->
                // Of SVG, whatever the country.
                String.format(
                    Locale.ROOT,
                    "%.1f,%.1f",
                    Plot.WIDTH * (1 - one.secondsAgo() / span),
                    Plot.HEIGHT - 2 - (Plot.HEIGHT - 4) * one.value() / top))
        .collect(Collectors.joining(" "));
  }
}
