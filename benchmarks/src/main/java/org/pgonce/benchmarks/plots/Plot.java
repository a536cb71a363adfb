package org.pgonce.benchmarks.plots;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Dimension;
import java.awt.Font;
import java.awt.font.FontRenderContext;
import java.awt.font.TextLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.jspecify.annotations.Nullable;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.style.colors.ColorBlindFriendlySeriesColors;
import org.knowm.xchart.style.markers.SeriesMarkers;
import org.pgonce.benchmarks.figures.Table;

/** Curves over one another, one for each of those that are compared. For one thread. */
public final class Plot {

  private static final String SVG = "http://www.w3.org/2000/svg";
  private static final int WIDTH = 860;
  private static final int HEIGHT = 430;
  private static final Color GRID = new Color(225, 225, 225);
  private static final Color[] COLORS = new ColorBlindFriendlySeriesColors().getSeriesColors();

  /** A percentile by its place on the axis, where each decade is a nine more. */
  private static final Map<Long, String> PERCENTILES =
      Map.of(
          1L, "0", 2L, "50", 4L, "75", 10L, "90", 20L, "95", 100L, "99", 200L, "99.5", 1000L,
          "99.9");

  private final String title;
  private final String x;
  private final String y;
  private final boolean percentiles;
  private final Map<String, List<Point>> curves = new LinkedHashMap<>();

  /** What was measured there. */
  public record Point(double x, double y) {}

  private Plot(String title, String x, String y, boolean percentiles) {
    this.title = title;
    this.x = x;
    this.y = y;
    this.percentiles = percentiles;
  }

  /** One with both axes in equal steps, the upright one from zero. */
  public static Plot of(String title, String x, String y) {
    return new Plot(title, x, y, false);
  }

  /**
   * One of what stays below y for how many in a hundred: x is below 100. The upright axis is
   * logarithmic, so what is not above zero is not drawn.
   */
  public static Plot ofPercentiles(String title, String y) {
    return new Plot(title, "percentile", y, true);
  }

  /** Draws these; of no point nothing, but others keep their colours. */
  public Plot curve(String label, List<Point> points) {
    curves.put(
        label,
        percentiles
            ? points.stream()
                .filter(point -> point.y() > 0)
                .map(point -> new Point(100 / (100 - point.x()), point.y()))
                .toList()
            : points);
    return this;
  }

  /**
   * Why nothing can be drawn here; null if it can. A JDK without a window system may lack fonts.
   */
  public static @Nullable String whyNot() {
    try {
      var layout =
          new TextLayout(
              "x",
              new Font(Font.SANS_SERIF, Font.PLAIN, 12),
              new FontRenderContext(null, true, true));
      return layout.getAdvance() > 0 ? null : "a letter has no width";
    } catch (RuntimeException | LinkageError | InternalError e) {
      return e.toString();
    }
  }

  /** Writes it as SVG, over what was there. */
  public void write(Path file) throws IOException {
    try {
      var document =
          DocumentBuilderFactory.newDefaultInstance()
              .newDocumentBuilder()
              .getDOMImplementation()
              .createDocument(SVG, "svg", null);
      var graphics = new TextGraphics(document);
      graphics.setSVGCanvasSize(new Dimension(WIDTH, HEIGHT));
      chart(graphics).paint(graphics, WIDTH, HEIGHT);
      var root = graphics.getRoot();
      root.setAttributeNS(null, "viewBox", "0 0 %d %d".formatted(WIDTH, HEIGHT));
      // Not by Batik: it names a DTD, which parsers would fetch.
      var transformer = TransformerFactory.newDefaultInstance().newTransformer();
      transformer.setOutputProperty(OutputKeys.INDENT, "yes");
      try (var out = Files.newOutputStream(file)) {
        transformer.transform(new DOMSource(root), new StreamResult(out));
      }
    } catch (ParserConfigurationException | TransformerException e) {
      throw new IOException(e);
    }
  }

  private XYChart chart(TextGraphics graphics) {
    var chart = new XYChartBuilder().title(title).xAxisTitle(x).yAxisTitle(y).build();
    var style = chart.getStyler();
    style.setChartBackgroundColor(Color.WHITE);
    // Dashes would be drawn one by one.
    style.setPlotGridLinesStroke(new BasicStroke(1)).setPlotGridLinesColor(GRID);
    style.setMarkerSize(5);
    chart.setCustomXAxisTickLabelsFormatter(
        at -> graphics.know(atX(at), style.getAxisTickLabelsFont()));
    chart.setCustomYAxisTickLabelsFormatter(
        at -> graphics.know(Table.whole(at), style.getAxisTickLabelsFont()));
    if (percentiles) {
      style.setXAxisLogarithmic(true).setXAxisLogarithmicDecadeOnly(false).setXAxisMin(1.0);
      style.setYAxisLogarithmic(true);
      var all = curves.values().stream().flatMap(List::stream).mapToDouble(Point::y);
      var range = all.summaryStatistics();
      style.setYAxisMin(Math.pow(10, Math.floor(Math.log10(range.getMin()))));
      style.setYAxisMax(Math.pow(10, Math.ceil(Math.log10(range.getMax()))));
    } else {
      style.setXAxisMin(0.0).setYAxisMin(0.0);
    }
    graphics.know(title, style.getChartTitleFont());
    graphics.know(x, style.getAxisTitleFont());
    graphics.know(y, style.getAxisTitleFont());
    var color = 0;
    for (var curve : curves.entrySet()) {
      var next = COLORS[color++ % COLORS.length];
      if (!curve.getValue().isEmpty()) {
        var xs = curve.getValue().stream().map(Point::x).toList();
        var ys = curve.getValue().stream().map(Point::y).toList();
        var series = chart.addSeries(graphics.know(curve.getKey(), style.getLegendFont()), xs, ys);
        series.setMarker(SeriesMarkers.CIRCLE).setMarkerColor(next).setLineColor(next);
      }
    }
    return chart;
  }

  private String atX(double at) {
    // A blank where there is no room: XChart takes no empty label.
    return percentiles ? PERCENTILES.getOrDefault(Math.round(at), " ") : Table.whole(at);
  }
}
