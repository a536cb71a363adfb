package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/**
 * The page's table of what each published artifact brings is that of the POMs. With {@code
 * -Dpgonce.texts.write=true} it is written there.
 */
class DependenciesTest {

  private static final Path ROOT = Path.of("..");
  private static final Path PAGE = ROOT.resolve("docs/compatibility.md");
  private static final Pattern TABLE =
      Pattern.compile("(?s)(<!-- dependencies -->\n\n)(.*?)(\n<!-- end -->)");

  private record Dependency(String artifact, String scope, boolean isOptional) {

    static Dependency of(Element element) {
      return new Dependency(
          named(element), text(element, "scope"), text(element, "optional").equals("true"));
    }

    private static String named(Element element) {
      var group = text(element, "groupId");
      return (group.equals("org.pgonce") ? "" : group + ":") + text(element, "artifactId");
    }

    @Override
    public String toString() {
      var how = isOptional ? "optional" : scope;
      return "`" + artifact + "`" + (how.isEmpty() ? "" : " (" + how + ")");
    }
  }

  @Test
  void thePageSaysWhatEachArtifactBrings() throws Exception {
    var page = Files.readString(PAGE);
    var table = TABLE.matcher(page);
    assertThat(table.find()).isTrue();
    if (Boolean.getBoolean("pgonce.texts.write")) {
      Files.writeString(
          PAGE, page.substring(0, table.start(2)) + table() + page.substring(table.end(2)));
    } else {
      assertThat(table.group(2)).isEqualTo(table());
    }
  }

  private static String table() throws Exception {
    var lines = new StringBuilder("| artifact | brings |\n|---|---|\n");
    for (var module : children(child(pom("."), "modules"), "module").toList()) {
      var pom = pom(module.getTextContent());
      var dependencies = child(pom, "dependencies");
      if (isPublished(pom) && dependencies != null) { // the BOM has none
        lines.append("| `%s` | %s |\n".formatted(text(pom, "artifactId"), brings(dependencies)));
      }
    }
    return lines.toString();
  }

  private static boolean isPublished(Element pom) {
    return Stream.ofNullable(child(pom, "properties"))
        .noneMatch(properties -> text(properties, "maven.deploy.skip").equals("true"));
  }

  private static String brings(Element dependencies) {
    return children(dependencies, "dependency")
        .map(Dependency::of)
        .filter(one -> !List.of("test", "provided").contains(one.scope()))
        .map(Dependency::toString)
        .collect(Collectors.joining(", "));
  }

  private static Element pom(String module) throws Exception {
    return DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(ROOT.resolve(module).resolve("pom.xml").toFile())
        .getDocumentElement();
  }

  private static String text(Element of, String name) {
    var child = child(of, name);
    return child == null ? "" : child.getTextContent().strip();
  }

  private static Element child(Element of, String name) {
    return children(of, name).findFirst().orElse(null);
  }

  private static Stream<Element> children(Element of, String name) {
    var nodes = of.getChildNodes();
    return IntStream.range(0, nodes.getLength())
        .<Node>mapToObj(nodes::item)
        .filter(node -> node instanceof Element && node.getNodeName().equals(name))
        .map(Element.class::cast);
  }
}
