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

  private static final long serialVersionUID = 1;
  private static final String POOLER =
      "a transaction-mode pooler such as PgBouncer stands between; give the server's own address with listenAddress(...)";
  private static final String MIXED_UP =
      "prepared statements of several sessions are mixed up: " + POOLER;

  /** What follows from it, and how soon the next attempt is made. */
  public enum Kind {
    /** No server answers, or the connection broke. An attempt costs nobody anything. */
    UNREACHABLE,
    /** Something answers and does not let listen now: it is full, a standby, or unwell. */
    FAILED,
    /** A password, a right or a setting is wrong: somebody has to change it. */
    REFUSED,
    /** A transaction-mode pooler. A driver that cannot connect through it leaks a connection. */
    POOLER,
    /** There is no address or no source: nothing is tried again. */
    POLLING;

    /** The wait before the next attempt. */
    Backoff backoff() {
      var longest =
          switch (this) {
            case UNREACHABLE -> Duration.ofSeconds(1);
            case POOLER -> Duration.ofHours(1);
            default -> Duration.ofSeconds(10);
          };
      return new Backoff(Duration.ofMillis(100), longest);
    }
  }

  /** A failure's kind and advice, a format for user and database, by the start of its SQLState. */
  private record Rule(String state, Kind kind, String advice) {}

  private static final String TLS = "TLS";

  // The first that fits counts.
  private static final List<Rule> RULES =
      List.of(
          new Rule(
              "28P01",
              Kind.REFUSED,
              "the server refused the password of user \"%1$s\"; check user and password of the DataSource, or give the LISTEN connection its own with listenAddress(...)"),
          new Rule(
              "28",
              Kind.REFUSED,
              "the server does not let user \"%1$s\" in from here; check pg_hba.conf and the TLS settings"),
          new Rule(
              "3D000",
              Kind.REFUSED,
              "there is no database \"%2$s\" on this server; check the name"),
          new Rule(
              "42501",
              Kind.REFUSED,
              "user \"%1$s\" may not connect to the database; grant connect on database \"%2$s\""),
          new Rule("0A", Kind.REFUSED, "no wake-up source can use these settings"),
          // pgjdbc-ng's first statements meet those of other sessions, or find their own gone.
          new Rule("26000", Kind.POOLER, MIXED_UP),
          new Rule("42P05", Kind.POOLER, MIXED_UP),
          new Rule(
              "25006",
              Kind.FAILED,
              "this server is a standby, and a standby refuses LISTEN; give the primary's address with listenAddress(...). It is tried again, in case it is promoted"),
          new Rule(
              "53",
              Kind.FAILED,
              "the server has no connection left, or is short of something else; raise max_connections or the user's connection limit, or make a pool smaller. It is tried again"),
          new Rule(
              "57",
              Kind.UNREACHABLE,
              "the server is starting up, stopping or recovering. It is tried again"),
          new Rule(
              TLS,
              Kind.FAILED,
              "no TLS connection came about; check sslmode, sslrootcert and the server's certificate. It is tried again"),
          new Rule(
              "08",
              Kind.UNREACHABLE,
              "no connection came about; check that the server runs, and host and port. It is tried again"),
          new Rule("", Kind.FAILED, "connecting failed. It is tried again"));

  private final Kind kind;

  private ListenFailure(Kind kind, String reason, @Nullable Throwable cause) {
    super(reason, cause);
    this.kind = kind;
  }

  private ListenFailure(Kind kind, String reason) {
    this(kind, reason, null);
  }

  /** No address or no source. */
  static ListenFailure polling(String reason) {
    return new ListenFailure(Kind.POLLING, reason);
  }

  static ListenFailure closed() {
    return polling("the listener is closed");
  }

  /** LISTEN was accepted, and the first NOTIFY never came. */
  static ListenFailure pooler(ListenAddress address) {
    return new ListenFailure(
        Kind.POOLER,
        "cannot listen at " + address + ": LISTEN is accepted but no NOTIFY arrives: " + POOLER);
  }

  /** A connection that listened has ended. */
  static ListenFailure lost(ListenAddress address, @Nullable String why) {
    return new ListenFailure(
        Kind.UNREACHABLE,
        "the LISTEN connection to " + address + " was lost (" + why + "); it is renewed");
  }

  /** A connection that listened is silent. */
  static ListenFailure silent(ListenAddress address, Duration timeout) {
    return new ListenFailure(
        Kind.UNREACHABLE,
        "the LISTEN connection to %s fell silent: a NOTIFY to itself did not come back within %d ms (network or server frozen, or UNLISTEN or DISCARD ALL ran on it); it is renewed"
            .formatted(address, timeout.toMillis()));
  }

  /** An error of pgonce or of a callback. */
  static ListenFailure unexpected(Throwable failure) {
    return new ListenFailure(Kind.FAILED, "listening failed unexpectedly: " + failure, failure);
  }

  /** Of several attempts: all reasons together, and the kind that is tried again the soonest. */
  static ListenFailure together(List<ListenFailure> each) {
    var soonest =
        each.stream()
            .min(
                Comparator.<ListenFailure, Boolean>comparing(ListenFailure::permanent)
                    .thenComparing(one -> one.kind.backoff().longest()))
            .orElseThrow();
    return new ListenFailure(
        soonest.kind,
        each.stream().map(ListenFailure::reason).distinct().collect(Collectors.joining("; ")),
        soonest);
  }

  /** What a driver or server said while connecting. */
  static ListenFailure of(ListenAddress address, SQLException failure) {
    var state = Objects.requireNonNullElse(failure.getSQLState(), "");
    var isTls = Failures.causes(failure).anyMatch(cause -> cause instanceof SSLException);
    var key = state.startsWith("08") && isTls ? TLS : state;
    var rule = RULES.stream().filter(one -> key.startsWith(one.state())).findFirst().orElseThrow();
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

  /** Whether trying again is pointless until somebody changes a setting or a right. */
  public boolean permanent() {
    return kind == Kind.REFUSED;
  }
}
