package org.pgonce.internal.listen;

import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.pgonce.Backoff;
import org.pgonce.spi.ListenAddress;

/**
 * Why the process does not listen. Its message is a sentence for logs and status: what, where, why,
 * what to do. Polling goes on meanwhile.
 */
public final class ListenFailure extends Exception {

  private static final long serialVersionUID = 1;
  private static final String POOLER =
      "a transaction-mode pooler such as PgBouncer stands between; give the server's own address with listenAddress(...)";
  private static final int LONGEST_CAUSE_CHAIN = 20;

  /** What follows from it, and how soon the next attempt is made. */
  public enum Kind {
    /** No server answers, or the connection broke. An attempt costs nobody anything. */
    UNREACHABLE,
    /** Something answers and does not let listen now: it is full, a standby, or unwell. */
    FAILED,
    /** A password, a right or a setting is wrong: somebody has to change it. */
    REFUSED,
    /** A transaction-mode pooler: each attempt leaves a LISTEN on a session that others use too. */
    POOLER,
    /** There is no address or no source: nothing is tried again. */
    POLLING;

    /** The wait before the next attempt. */
    Backoff backoff() {
      var longest =
          switch (this) {
            case UNREACHABLE -> Duration.ofSeconds(1);
            case POOLER -> Duration.ofMinutes(1);
            default -> Duration.ofSeconds(10);
          };
      return new Backoff(Duration.ofMillis(100), longest);
    }
  }

  /** Whether another source may do better. */
  enum Scope {
    /** The server or the network fails: no source gets in. */
    SERVER,
    /** This source cannot do these settings, or cannot speak with this server. */
    SOURCE,
    /** Not known: another source may do better, and this one may next time. */
    UNKNOWN
  }

  /** SQLStates that say more than their class does. */
  private static final Set<String> TOLD_APART =
      Set.of("25006", "26000", "28P01", "3D000", "42501", "42P05");

  private static final String TLS = "TLS";

  private final Kind kind;
  private final Scope scope;

  private ListenFailure(Kind kind, Scope scope, String reason, @Nullable Throwable cause) {
    super(reason, cause);
    this.kind = kind;
    this.scope = scope;
  }

  private ListenFailure(Kind kind, String reason) {
    this(kind, Scope.SERVER, reason, null);
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
    return new ListenFailure(
        Kind.FAILED, Scope.SERVER, "listening failed unexpectedly: " + failure, failure);
  }

  /** Of several addresses: all reasons together; transient if one of them is. */
  static ListenFailure together(List<ListenFailure> each) {
    var first = each.stream().filter(one -> !one.permanent()).findFirst().orElse(each.get(0));
    return new ListenFailure(
        first.kind,
        each.stream().map(ListenFailure::reason).distinct().collect(Collectors.joining("; ")));
  }

  /** What a driver or server said while connecting. */
  static ListenFailure of(ListenAddress address, SQLException failure) {
    var state = Objects.requireNonNullElse(failure.getSQLState(), "");
    var key = key(state, failure);
    var user = address.user() == null ? System.getProperty("user.name") : address.user();
    return new ListenFailure(
        kind(key),
        scope(key, failure),
        "cannot listen at %s: %s (%s%s)"
            .formatted(
                address,
                advice(key).formatted(user, address.database()),
                state.isEmpty() ? "" : state + ": ",
                failure.getMessage()),
        failure);
  }

  /** Returns the SQLState or its class, or TLS for a handshake that failed. */
  private static String key(String state, SQLException failure) {
    if (TOLD_APART.contains(state)) {
      return state;
    }
    var stateClass = state.substring(0, Math.min(2, state.length()));
    return stateClass.equals("08") && causedBy(failure, SSLException.class) ? TLS : stateClass;
  }

  private static Kind kind(String key) {
    return switch (key) {
      case "28P01", "28", "3D000", "42501", "0A" -> Kind.REFUSED;
      case "26000", "42P05" -> Kind.POOLER;
      case "57", "08" -> Kind.UNREACHABLE;
      default -> Kind.FAILED;
    };
  }

  private static Scope scope(String key, SQLException failure) {
    return switch (key) {
      case "3D000", "42501", "25006", "53", "57" -> Scope.SERVER;
      case "28P01", "28" -> Scope.UNKNOWN;
      case "08" -> isUnanswered(failure) ? Scope.SERVER : Scope.UNKNOWN;
      default -> Scope.SOURCE;
    };
  }

  /** Returns what is wrong and what to do, a format for user and database. */
  private static String advice(String key) {
    return switch (key) {
      case "28P01" ->
          "the server refused the password of user \"%1$s\"; check user and password of the DataSource, or give the LISTEN connection its own with listenAddress(...)";
      case "3D000" -> "there is no database \"%2$s\" on this server; check the name";
      case "42501" ->
          "user \"%1$s\" may not connect to the database; grant connect on database \"%2$s\"";
      case "25006" ->
          "this server is a standby, and a standby refuses LISTEN; give the primary's address with listenAddress(...). It is tried again, in case it is promoted";
      // pgjdbc-ng's first statements meet those of other sessions, or find their own gone.
      case "26000", "42P05" -> "prepared statements of several sessions are mixed up: " + POOLER;
      case "28" ->
          "the server does not let user \"%1$s\" in from here; check pg_hba.conf and the TLS settings";
      case "53" ->
          "the server has no connection left, or is short of something else; raise max_connections or the user's connection limit, or make a pool smaller. It is tried again";
      case "57" -> "the server is starting up, stopping or recovering. It is tried again";
      case "0A" -> "no wake-up source can use these settings";
      case TLS ->
          "no TLS connection came about; check sslmode, sslrootcert and the server's certificate. It is tried again";
      case "08" ->
          "no connection came about; check that the server runs, and host and port. It is tried again";
      default -> "connecting failed. It is tried again";
    };
  }

  private static boolean isUnanswered(SQLException failure) {
    return failure instanceof SQLTransientConnectionException
        || causedBy(
            failure,
            ConnectException.class,
            NoRouteToHostException.class,
            UnknownHostException.class);
  }

  private static boolean causedBy(SQLException failure, Class<?>... types) {
    // Limited, because a chain of causes can be a circle.
    return Stream.<@Nullable Throwable>iterate(failure, Objects::nonNull, Throwable::getCause)
        .limit(LONGEST_CAUSE_CHAIN)
        .anyMatch(cause -> Stream.of(types).anyMatch(type -> type.isInstance(cause)));
  }

  public Kind kind() {
    return kind;
  }

  Scope scope() {
    return scope;
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
