package org.pgonce.benchmarks.plots;

import java.awt.Font;
import java.awt.Shape;
import java.awt.font.TextLayout;
import java.awt.geom.AffineTransform;
import java.util.HashMap;
import java.util.Map;
import org.apache.batik.svggen.SVGGraphics2D;
import org.apache.batik.svggen.SVGPath;
import org.w3c.dom.Document;

/**
 * SVG whose text is text. XChart fills the outlines of its letters, which nobody can search and no
 * program can read aloud: those of text that this knows are text again.
 */
final class TextGraphics extends SVGGraphics2D {

  private static final double UPWARDS = -Math.PI / 2;

  private final Map<String, Text> byOutline = new HashMap<>();

  private record Text(String text, Font font, double angle) {}

  TextGraphics(Document document) {
    super(document);
  }

  /** Knows this text from now on, written to the right or upwards. Returns it. */
  String know(String text, Font font) {
    if (!text.isBlank()) {
      var layout = new TextLayout(text, font, getFontRenderContext());
      for (var angle : new double[] {0, UPWARDS}) {
        var turned = angle == 0 ? null : AffineTransform.getRotateInstance(angle);
        byOutline.put(path(layout.getOutline(turned)), new Text(text, font, angle));
      }
    }
    return text;
  }

  private String path(Shape shape) {
    return SVGPath.toSVGPathData(shape, getGeneratorContext());
  }

  @Override
  public void fill(Shape shape) {
    var found = byOutline.get(path(shape));
    if (found == null) {
      super.fill(shape);
      return;
    }
    var before = getTransform();
    setFont(found.font());
    rotate(found.angle());
    drawString(found.text(), 0, 0);
    setTransform(before);
  }
}
