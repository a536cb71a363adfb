package org.pgonce.cli.database;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.terminal.FailedException;
import org.pgonce.cli.terminal.Terminal;
import org.pgonce.cli.terminal.UsageException;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * Where the database is, without a password: an argument is seen by all who may list processes.
 *
 * @param user as the URL has it; null if it has none
 * @param password of PGONCE_URL; null if it has none. Never printed
 */
record Address(String jdbcUrl, @Nullable String user, @Nullable String password) {

  // An @ behind the authority is of a password with a slash or a question mark in it.
  private static final Pattern SECRET =
      Pattern.compile("(?i)[?&][a-z]*password=[^&]|//[^/?]*:[^/?@]*[/?][^=]*@");

  // None is given by it, so the other ways are tried.
  private static final Pattern EMPTY = Pattern.compile("(?i)(?<=[?&])password=(&|$)");
  private static final String NOT_READABLE =
      "is no address of a database: postgresql://host:port/database or jdbc:postgresql://host:port/database";

  /** An argument. */
  static Address ofArgument(String url) {
    var address = of("--url", url, UsageException::new);
    if (address.password() != null || SECRET.matcher(url).find()) {
      throw new UsageException(
          "--url holds a password, which others can see in the list of processes: give it by PGPASSWORD, ~/.pgpass, or --password, which asks");
    }
    return address;
  }

  static Address ofVariable(String url) {
    return of("PGONCE_URL", url, FailedException::new);
  }

  private static Address of(String where, String url, Function<String, RuntimeException> refusal) {
    var plain = url.startsWith("jdbc:") ? url.substring("jdbc:".length()) : url;
    plain = plain.startsWith("postgres://") ? "postgresql" + plain.substring(8) : plain;
    if (!plain.startsWith("postgresql:")) {
      throw refusal.apply(where + " " + NOT_READABLE);
    }
    try {
      var authority = authority(plain);
      var at = authority.lastIndexOf('@');
      var parts = at < 0 ? new String[0] : authority.substring(0, at).split(":", 2);
      var address =
          new Address(
              "jdbc:"
                  + EMPTY
                      .matcher(plain.replace("//" + authority.substring(0, at + 1), "//"))
                      .replaceAll(""),
              parts.length > 0 ? decoded(parts[0]) : null,
              parts.length > 1 && !parts[1].isEmpty() ? decoded(parts[1]) : null);
      new PGSimpleDataSource().setURL(address.jdbcUrl());
      return address;
    } catch (IllegalArgumentException e) {
      // Without the cause: it quotes the URL, with a password that may be in it.
      throw refusal.apply(where + " " + NOT_READABLE);
    }
  }

  /**
   * User, password and hosts. Not by java.net.URI, which sees no user beside several hosts, or
   * beside a host with an underscore.
   */
  private static String authority(String url) {
    var hosts = "postgresql://";
    return url.startsWith(hosts) ? url.substring(hosts.length()).split("[/?]", 2)[0] : "";
  }

  /** As the rest of a URL: «a%40b» is «a@b», and a plus is a plus. */
  private static String decoded(String text) {
    return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
  }

  /** As libpq takes it. */
  static Address ofLibpqVariables(Terminal terminal, String user) {
    var host = orElse(terminal.variable("PGHOST"), "localhost");
    if (host.startsWith("/")) {
      throw new FailedException(
          "PGHOST is the directory of a Unix socket, which Java's driver does not speak to: set it to the host's name");
    }
    return of(
        "PGHOST, PGPORT or PGDATABASE",
        "postgresql://%s:%s/%s"
            .formatted(
                host,
                orElse(terminal.variable("PGPORT"), "5432"),
                URLEncoder.encode(
                    orElse(terminal.variable("PGDATABASE"), user), StandardCharsets.UTF_8)),
        FailedException::new);
  }

  static String orElse(@Nullable String value, String otherwise) {
    return value == null ? otherwise : value;
  }

  /** Leaves the password out. */
  @Override
  public String toString() {
    return jdbcUrl.replaceFirst("[?].*", "");
  }
}
