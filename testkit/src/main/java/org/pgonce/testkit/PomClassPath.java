package org.pgonce.testkit;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.jspecify.annotations.Nullable;
import org.w3c.dom.Element;
import org.xml.sax.SAXException;

/**
 * What a POM's dependencies bring, out of this JVM's class path: those entries, and no others, that
 * Maven would give to a project with that POM. It follows the POM that lies beside each jar of the
 * local repository, or above a module's directory {@code target}. Versions are those of this class
 * path; exclusions are passed over.
 */
public final class PomClassPath {

  private static final Set<String> AT_RUN_TIME = Set.of("", "compile", "runtime");

  private final List<Path> entries =
      Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
          .map(entry -> Path.of(entry).toAbsolutePath())
          .toList();
  private final Map<String, Path> modules = new HashMap<>();

  private PomClassPath() throws IOException {
    for (var entry : entries) {
      var pom = modulePom(entry);
      if (Files.exists(pom) && !entry.endsWith("test-classes")) {
        modules.put(text(read(pom), "artifactId"), entry);
      }
    }
  }

  /**
   * The entries that these artifacts and what they depend on have, as one class path.
   *
   * @param artifacts each as {@code group:artifact}
   * @throws IllegalArgumentException if this class path has none of one of them
   */
  public static String of(List<String> artifacts) throws IOException {
    return String.join(
        File.pathSeparator,
        new PomClassPath().closure(artifacts).stream().map(Path::toString).toList());
  }

  private Set<Path> closure(List<String> artifacts) throws IOException {
    var found = new LinkedHashSet<Path>();
    var open = new ArrayDeque<Path>();
    for (var artifact : artifacts) {
      var entry = find(artifact);
      if (entry == null) {
        throw new IllegalArgumentException(
            artifact + " is not on this class path: is it a dependency of the module?");
      }
      open.add(entry);
    }
    while (!open.isEmpty()) {
      var entry = open.remove();
      if (found.add(entry)) {
        for (var artifact : dependencies(read(pom(entry)))) {
          var next = find(artifact);
          if (next != null) { // replaced or left out by what the module manages
            open.add(next);
          }
        }
      }
    }
    return found;
  }

  private @Nullable Path find(String artifact) {
    var colon = artifact.indexOf(':');
    var group = artifact.substring(0, colon);
    var name = artifact.substring(colon + 1);
    if (group.equals("org.pgonce")) {
      return modules.get(name);
    }
    var directory = "/" + group.replace('.', '/') + "/" + name + "/";
    return entries.stream()
        .filter(entry -> entry.toString().replace('\\', '/').contains(directory))
        .findFirst()
        .orElse(null);
  }

  private static Path pom(Path entry) {
    var beside = Path.of(entry.toString().replaceAll("\\.jar$", ".pom"));
    return !beside.equals(entry) && Files.exists(beside) ? beside : modulePom(entry);
  }

  /** Of {@code module/target/classes} or {@code module/target/module.jar}. */
  private static Path modulePom(Path entry) {
    return entry.resolve("../../pom.xml").normalize();
  }

  private static List<String> dependencies(Element pom) {
    var own = text(pom, "groupId");
    var group = own.isEmpty() ? text(child(pom, "parent"), "groupId") : own;
    var artifacts = new ArrayList<String>();
    children(child(pom, "dependencies"), "dependency")
        .filter(one -> AT_RUN_TIME.contains(text(one, "scope")))
        .filter(one -> !text(one, "optional").equals("true"))
        .forEach(
            one ->
                artifacts.add(
                    text(one, "groupId").replaceAll("\\$\\{(project|pom)\\.groupId}", group)
                        + ":"
                        + text(one, "artifactId")));
    return artifacts;
  }

  private static Element read(Path pom) throws IOException {
    try {
      return DocumentBuilderFactory.newInstance()
          .newDocumentBuilder()
          .parse(pom.toFile())
          .getDocumentElement();
    } catch (ParserConfigurationException | SAXException e) {
      throw new IOException("cannot read " + pom, e);
    }
  }

  private static String text(@Nullable Element of, String name) {
    var child = child(of, name);
    return child == null ? "" : child.getTextContent().strip();
  }

  private static @Nullable Element child(@Nullable Element of, String name) {
    return children(of, name).findFirst().orElse(null);
  }

  private static Stream<Element> children(@Nullable Element of, String name) {
    if (of == null) {
      return Stream.empty();
    }
    var nodes = of.getChildNodes();
    var found = new ArrayList<Element>();
    for (var i = 0; i < nodes.getLength(); i++) {
      if (nodes.item(i) instanceof Element element && element.getNodeName().equals(name)) {
        found.add(element);
      }
    }
    return found.stream();
  }
}
