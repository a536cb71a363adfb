package org.pgonce.benchmarks;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;

/** What is in an SVG file, which is read as XML. */
record Drawn(List<String> texts, Set<String> colors) {

  static Drawn read(Path file) throws Exception {
    var factory = DocumentBuilderFactory.newDefaultInstance();
    // None names a DTD, which its readers would have to fetch.
    factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
    factory.setNamespaceAware(true);
    var root = factory.newDocumentBuilder().parse(file.toFile()).getDocumentElement();
    if (!"http://www.w3.org/2000/svg".equals(root.getNamespaceURI())) {
      throw new AssertionError(root.getNamespaceURI() + " " + root.getLocalName());
    }
    var texts = new ArrayList<String>();
    for (var text : elements(root, "text")) {
      texts.add(text.getTextContent());
    }
    // Only curves are cut at the edge of the plot.
    var colors = new HashSet<String>();
    for (var line : elements(root, "line")) {
      if (line.hasAttribute("clip-path")) {
        colors.add(((Element) line.getParentNode()).getAttribute("stroke"));
      }
    }
    return new Drawn(texts, colors);
  }

  private static List<Element> elements(Element root, String name) {
    var found = root.getElementsByTagName(name);
    var elements = new ArrayList<Element>();
    for (var i = 0; i < found.getLength(); i++) {
      elements.add((Element) found.item(i));
    }
    return elements;
  }
}
