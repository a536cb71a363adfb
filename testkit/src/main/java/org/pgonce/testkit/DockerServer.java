package org.pgonce.testkit;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.opentest4j.TestAbortedException;
import org.testcontainers.postgresql.PostgreSQLContainer;

/**
 * A server in a container; the image comes from {@code pgonce.test.docker.image}, by default {@code
 * postgres:18-alpine}.
 */
final class DockerServer implements TestServer {

  private final PostgreSQLContainer container;
  private final boolean shared;

  private DockerServer(PostgreSQLContainer container, boolean shared) {
    this.container = container;
    this.shared = shared;
  }

  static DockerServer start(Map<String, String> settings, boolean shared) {
    var command = new ArrayList<>(List.of("postgres"));
    var all = new TreeMap<>(ServerSettings.DEFAULTS);
    all.putAll(settings);
    all.forEach((name, value) -> command.addAll(List.of("-c", name + "=" + value)));
    var container =
        new PostgreSQLContainer(
            System.getProperty("pgonce.test.docker.image", "postgres:18-alpine"));
    container
        .withUsername("postgres")
        .withDatabaseName("postgres")
        .withCommand(command.toArray(String[]::new));
    container.start(); // Testcontainers itself removes it when this JVM is gone
    return new DockerServer(container, shared);
  }

  @Override
  public String host() {
    return container.getHost();
  }

  @Override
  public int port() {
    return container.getMappedPort(PostgreSQLContainer.POSTGRESQL_PORT);
  }

  @Override
  public String user() {
    return container.getUsername();
  }

  @Override
  public String password() {
    return container.getPassword();
  }

  @Override
  public String database() {
    return container.getDatabaseName();
  }

  @Override
  public void stopImmediately() {
    throw onlyEmbedded();
  }

  @Override
  public void killPostmaster() {
    throw onlyEmbedded();
  }

  @Override
  public void restart() {
    throw onlyEmbedded();
  }

  @Override
  public TestServer standby() {
    throw onlyEmbedded();
  }

  @Override
  public long postmasterPid() {
    throw onlyEmbedded();
  }

  private static TestAbortedException onlyEmbedded() {
    return new TestAbortedException(
        "Skipped: only an embedded server is killed, and pgonce.test.server=docker");
  }

  @Override
  public void close() {
    if (!shared) {
      container.close();
    }
  }
}
