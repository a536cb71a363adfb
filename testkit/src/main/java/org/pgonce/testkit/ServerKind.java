package org.pgonce.testkit;

import java.util.Map;
import org.opentest4j.TestAbortedException;

/** Which server the property {@code pgonce.test.server} asks for. */
record ServerKind(String choice) {

  static final String PROPERTY = "pgonce.test.server";
  private static final String VARIABLE = "PGONCE_TEST_SERVER";

  static ServerKind configured() {
    var fromEnvironment = System.getenv().getOrDefault(VARIABLE, "embedded");
    var choice = System.getProperty(PROPERTY, fromEnvironment);
    if (!choice.equals("embedded")
        && !choice.equals("docker")
        && !choice.startsWith("jdbc:postgresql:")) {
      throw new IllegalArgumentException(
          "%s (or %s) names no kind of server: use embedded, docker, or a URL that starts with jdbc:postgresql:"
              .formatted(PROPERTY, VARIABLE));
    }
    return new ServerKind(choice);
  }

  TestServer start(Map<String, String> settings) {
    if (choice.startsWith("jdbc:")) {
      throw new TestAbortedException(
          "Skipped: needs a server of its own, but %s names an existing one".formatted(PROPERTY));
    }
    return choice.equals("docker")
        ? DockerServer.start(settings, false)
        : EmbeddedServer.start(settings, false);
  }

  TestServer startShared(Map<String, String> settings) {
    if (choice.startsWith("jdbc:")) {
      return existing();
    }
    return choice.equals("docker")
        ? DockerServer.start(settings, true)
        : EmbeddedServer.start(settings, true);
  }

  private TestServer existing() {
    try {
      return ExistingServer.at(choice);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(PROPERTY + ": " + e.getMessage(), e);
    }
  }
}
