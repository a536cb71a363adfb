package org.pgonce.cli.database;

import static org.pgonce.cli.database.Address.orElse;

import java.time.Duration;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.terminal.DurationOption;
import org.pgonce.cli.terminal.FailedException;
import org.pgonce.cli.terminal.Terminal;
import org.pgonce.operations.internal.sql.Database;
import org.postgresql.ds.PGSimpleDataSource;
import picocli.CommandLine.Option;

/** Which database, as whom, and for how long. */
public final class ConnectionOptions {

  private static final int CONNECT_SECONDS = 10;
  private static final Duration LONGEST = Duration.ofDays(1);

  // Beyond the server's own bound: the server says better what took long.
  private static final int ANSWER_SECONDS_MORE = 30;

  @Option(
      names = "--url",
      paramLabel = "URL",
      description =
          "postgresql://host:port/database, without a password. Default: PGONCE_URL, else PGHOST, PGPORT, PGDATABASE")
  private @Nullable String url;

  @Option(
      names = {"-U", "--user"},
      paramLabel = "ROLE",
      description = "Default: of the URL, else PGUSER, else the system's user")
  private @Nullable String user;

  @Option(
      names = "--password",
      description = "Asks for it; give it last. Otherwise: PGPASSWORD, PGONCE_URL, ~/.pgpass")
  private boolean asks;

  private @Nullable String asked;

  @Option(
      names = "--statement-timeout",
      paramLabel = DurationOption.LABEL,
      converter = DurationOption.class,
      defaultValue = "1m",
      description = "The most that one statement may take: 90 (seconds), 5m, 2h. Default: 1m")
  private Duration statementTimeout = Duration.ofMinutes(1);

  @Option(
      names = "--lock-timeout",
      paramLabel = DurationOption.LABEL,
      converter = DurationOption.class,
      defaultValue = "10s",
      description = "The most that one statement waits for a lock. Default: 10 seconds")
  private Duration lockTimeout = Duration.ofSeconds(10);

  /** Opens a connection. The caller closes it. */
  public Database open(Terminal terminal) {
    var source = dataSource(terminal);
    return Database.open(
        source,
        seconds("--statement-timeout", statementTimeout),
        seconds("--lock-timeout", lockTimeout),
        failure -> Failure.inWords(failure, where(source)));
  }

  private static String where(PGSimpleDataSource source) {
    var ports = source.getPortNumbers();
    var hosts = new StringJoiner(",");
    for (var at = 0; at < ports.length; at++) {
      hosts.add(source.getServerNames()[at] + ":" + ports[at]);
    }
    return hosts + "/" + source.getDatabaseName();
  }

  /**
   * Its connections are the login's, named «pgonce cli». Asks for the password if it is told to.
   */
  public PGSimpleDataSource dataSource(Terminal terminal) {
    var statementSeconds = seconds("--statement-timeout", statementTimeout);
    seconds("--lock-timeout", lockTimeout);
    var given = terminal.variable("PGONCE_URL");
    var systemUser = orElse(terminal.variable("PGUSER"), System.getProperty("user.name"));
    var address =
        url != null
            ? Address.ofArgument(url)
            : given != null
                ? Address.ofVariable(given)
                : Address.ofLibpqVariables(terminal, orElse(user, systemUser));
    var source = new PGSimpleDataSource();
    source.setURL(address.jdbcUrl());
    if (user != null) {
      source.setUser(user);
    } else if (address.user() != null) {
      source.setUser(address.user());
    } else if (source.getUser() == null) {
      source.setUser(systemUser);
    }
    var password = password(terminal, address);
    if (password != null) {
      source.setPassword(password);
    }
    var sslMode = terminal.variable("PGSSLMODE");
    if (sslMode != null && source.getSslMode() == null) {
      source.setSslMode(sslMode);
    }
    var sslRoot = terminal.variable("PGSSLROOTCERT");
    if (sslRoot != null && source.getSslRootCert() == null) {
      source.setSslRootCert(sslRoot);
    }
    source.setApplicationName("pgonce cli");
    source.setConnectTimeout(CONNECT_SECONDS);
    source.setLoginTimeout(CONNECT_SECONDS);
    source.setSocketTimeout(statementSeconds + ANSWER_SECONDS_MORE);
    // Behind a pooler a named statement would be another client's.
    source.setPrepareThreshold(0);
    return source;
  }

  private @Nullable String password(Terminal terminal, Address address) {
    if (!asks) {
      var variable = terminal.variable("PGPASSWORD");
      return variable == null ? address.password() : variable;
    }
    var ask = terminal.askPassword();
    if (ask == null) {
      throw new FailedException(
          "--password asks for the password, and there is no terminal to ask at: use PGPASSWORD or ~/.pgpass");
    }
    if (asked == null) {
      var given = ask.get();
      if (given == null) { // by Ctrl-D
        throw new FailedException(
            "no password was given: give the command again, or use PGPASSWORD or ~/.pgpass");
      }
      asked = new String(given); // once, though a command may take two connections
    }
    return asked;
  }

  private static int seconds(String option, Duration given) {
    return DurationOption.secondsOf(option, given, Duration.ofSeconds(1), LONGEST);
  }
}
