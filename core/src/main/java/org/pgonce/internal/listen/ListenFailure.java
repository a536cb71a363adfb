package org.pgonce.internal.listen;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.pgonce.Backoff;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.spi.ListenAddress;

/**
 * Why the process does not listen. Its message is a sentence for logs and status: what, where, why,
 * what to do. Polling goes on meanwhile.
 */
public final class ListenFailure extends Exception {

  /** What follows from it. The earlier kinds are tried again sooner. */
  public enum Kind {
    /** No server answers, or the connection broke. An attempt costs nobody anything. */
    UNREACHABLE(Duration.ofSeconds(1)),
    /** Something answers and does not let listen now: it is full, a standby, or unwell. */
    FAILED(Duration.ofSeconds(10)),
    /** A transaction-mode pooler. A driver that cannot connect through it leaks a connection. */
    POOLER(Duration.ofHours(1)),
    /** A password, a right or a setting is wrong: somebody has to change it. */
    REFUSED(Duration.ofSeconds(10)),
    /** There is no address or no source: nothing is tried again. */
    POLLING(Duration.ofSeconds(10));

    private final Duration longest;

    Kind(Duration longest) {
      this.longest = longest;
    }

    /** The wait before the next attempt. */
    Backoff backoff() {
      return new Backoff(Duration.ofMillis(100), longest);
    }
  }

  /** A failure's kind and advice, a format for user and database, by the start of its SQLState. */
  private record Rule(String state, Kind kind, String advice) {

    static Rule of(String line) {
      var parts = line.split(" +", 3);
      return new Rule(parts[0], Kind.valueOf(parts[1]), parts[2]);
    }
  }

  static final String POOLER =
      "a transaction-mode pooler such as PgBouncer stands between; give the server's own address with listenAddress(...)";

  // The first that fits counts. TLS is an SQLState 08 whose cause is an SSLException. pgjdbc-ng's
  // first statements behind a pooler meet those of other sessions, or find their own gone: 26000
  // and 42P05.
  private static final List<Rule> RULES =
      """
      28P01 REFUSED the server refused the password of user "%1$s"; check user and password of the DataSource, or give the LISTEN connection its own with listenAddress(...)
      28 REFUSED the server does not let user "%1$s" in from here; check pg_hba.conf and the TLS settings
      3D000 REFUSED there is no database "%2$s" on this server; check the name
      42501 REFUSED user "%1$s" may not connect to the database; grant connect on database "%2$s"
      0A REFUSED no wake-up source can use these settings
      26000 POOLER prepared statements of several sessions are mixed up: {pooler}
      42P05 POOLER prepared statements of several sessions are mixed up: {pooler}
      25006 FAILED this server is a standby, and a standby refuses LISTEN; give the primary's address with listenAddress(...). It is tried again, in case it is promoted
      53 FAILED the server has no connection left, or is short of something else; raise max_connections or the user's connection limit, or make a pool smaller. It is tried again
      57014 FAILED the server cancelled a statement; look at statement_timeout of the role, the database and the server. It is tried again
      57 UNREACHABLE the server is starting up, stopping or recovering. It is tried again
      TLS FAILED no TLS connection came about; check sslmode, sslrootcert and the server's certificate. It is tried again
      08 UNREACHABLE no connection came about; check that the server runs, and host and port. It is tried again
      """
          .replace("{pooler}", POOLER)
          .lines()
          .map(Rule::of)
          .toList();
  private static final Rule OTHERWISE =
      new Rule("", Kind.FAILED, "connecting failed. It is tried again");

  private final Kind kind;

  ListenFailure(Kind kind, String reason) {
    this(kind, reason, null);
  }

  ListenFailure(Kind kind, String reason, @Nullable Throwable cause) {
    super(reason, cause);
    this.kind = kind;
  }

  /** No address or no source. */
  static ListenFailure polling(String reason) {
    return new ListenFailure(Kind.POLLING, reason);
  }

  /** Of several attempts: all reasons together, and the kind that is tried again the soonest. */
  static ListenFailure together(List<ListenFailure> each) {
    var soonest = each.stream().min(Comparator.comparing(ListenFailure::kind)).orElseThrow();
    return new ListenFailure(
        soonest.kind,
        each.stream().map(ListenFailure::reason).distinct().collect(Collectors.joining("; ")),
        soonest);
  }

  /** What a driver or server said while connecting. */
  static ListenFailure of(ListenAddress address, SQLException failure) {
    var state = Objects.requireNonNullElse(failure.getSQLState(), "");
    var isTls = Failures.causes(failure).anyMatch(cause -> cause instanceof SSLException);
    var key = state.startsWith("08") && isTls ? "TLS" : state;
    var rule =
        RULES.stream().filter(one -> key.startsWith(one.state())).findFirst().orElse(OTHERWISE);
    var user = address.user() == null ? System.getProperty("user.name") : address.user();
    return new ListenFailure(
        rule.kind(),
        "cannot listen at %s: %s (%s%s)"
            .formatted(
                address,
                rule.advice().formatted(user, address.database()),
                state.isEmpty() ? "" : state + ": ",
                failure.getMessage()),
        failure);
  }

  public Kind kind() {
    return kind;
  }

  /** The sentence. */
  public String reason() {
    return String.valueOf(getMessage());
  }
}
