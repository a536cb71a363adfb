package org.pgonce.example.run;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.StringJoiner;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * A database and who connects to it. It travels to listener processes in their environment, which
 * other users cannot read, unlike arguments.
 *
 * @param url JDBC URL without user and password
 * @param password empty where none is needed
 */
public record DatabaseAddress(String url, String user, String password) {

  static final String URL = "PGONCE_EXAMPLE_URL";
  static final String USER = "PGONCE_EXAMPLE_USER";
  static final String PASSWORD = "PGONCE_EXAMPLE_PASSWORD";

  private static final int CONNECT_SECONDS = 5;
  private static final Pattern URL_PARTS =
      Pattern.compile(
          "(?<server>jdbc:postgresql://[^/?]*/)(?<database>[^/?]+)(?:\\?(?<query>.*))?");

  /** As {@link #toEnvironment} wrote it. */
  public static DatabaseAddress fromEnvironment() {
    var environment = System.getenv();
    return new DatabaseAddress(
        environment.getOrDefault(URL, ""),
        environment.getOrDefault(USER, ""),
        environment.getOrDefault(PASSWORD, ""));
  }

  void toEnvironment(Map<String, String> environment) {
    environment.put(URL, url);
    environment.put(USER, user);
    environment.put(PASSWORD, password);
  }

  /**
   * Reads a JDBC URL that may hold user and password.
   *
   * @param user wins over the URL's, and so does the password; null if there is none
   * @throws IllegalArgumentException without the URL, which may hold a password
   */
  static DatabaseAddress parse(String url, @Nullable String user, @Nullable String password) {
    var parts = URL_PARTS.matcher(url);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "it is not of the form jdbc:postgresql://host:port/database");
    }
    var given = new Properties();
    var others = new StringJoiner("&", "?", "").setEmptyValue("");
    for (var parameter : Objects.requireNonNullElse(parts.group("query"), "").split("&", -1)) {
      if (parameter.startsWith("user=") || parameter.startsWith("password=")) {
        var pair = parameter.split("=", 2);
        given.setProperty(pair[0], URLDecoder.decode(pair[1], StandardCharsets.UTF_8));
      } else if (!parameter.isEmpty()) {
        others.add(parameter);
      }
    }
    return new DatabaseAddress(
        parts.group("server") + parts.group("database") + others,
        user != null ? user : given.getProperty("user", System.getProperty("user.name")),
        password != null ? password : given.getProperty("password", ""));
  }

  /** Another database of the same server. */
  public DatabaseAddress database(String name) {
    var parts = URL_PARTS.matcher(url);
    if (!parts.matches()) {
      throw new IllegalStateException("a database address without a database");
    }
    var query = parts.group("query");
    return new DatabaseAddress(
        parts.group("server") + name + (query == null ? "" : "?" + query), user, password);
  }

  /** Connections one by one; a new object at each call. */
  public PGSimpleDataSource dataSource() {
    var source = new PGSimpleDataSource();
    source.setUrl(url);
    source.setUser(user);
    source.setPassword(password);
    source.setConnectTimeout(CONNECT_SECONDS);
    source.setApplicationName("pgonce example");
    return source;
  }

  /** A pool, as an application would have it. The caller closes it. */
  public HikariDataSource pool(String applicationName, int size) {
    var config = new HikariConfig();
    config.setJdbcUrl(url);
    config.setUsername(user);
    config.setPassword(password);
    config.setMaximumPoolSize(size);
    config.addDataSourceProperty("ApplicationName", applicationName);
    return new HikariDataSource(config);
  }

  /** Leaves the password out. */
  @Override
  public String toString() {
    return user + " at " + url;
  }
}
