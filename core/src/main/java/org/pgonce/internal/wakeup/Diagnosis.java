package org.pgonce.internal.wakeup;

import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.wakeup.Deafness.Kind;
import org.pgonce.spi.ListenAddress;

/** Turns what a driver or server says into a reason that tells its reader what to do. */
final class Diagnosis {

  private Diagnosis() {}

  static Deafness of(ListenAddress address, SQLException failure) {
    if (failure instanceof Deafness.Found found) {
      return found.deafness();
    }
    var state = failure.getSQLState() == null ? "" : failure.getSQLState();
    return switch (state) {
      case "28P01" ->
          because(
              Kind.REFUSED,
              address,
              failure,
              "the server refused the password of user \""
                  + user(address)
                  + "\"; check user and password of the DataSource, or give the LISTEN connection"
                  + " its own with listenAddress(...)");
      case "3D000" ->
          because(
              Kind.REFUSED,
              address,
              failure,
              "there is no database \"" + address.database() + "\" on this server; check the name");
      case "42501" ->
          because(
              Kind.REFUSED,
              address,
              failure,
              "user \""
                  + user(address)
                  + "\" may not connect to the database; grant connect on database \""
                  + address.database()
                  + "\"");
      case "53300" ->
          because(
              Kind.FULL,
              address,
              failure,
              "the server has no connection left; raise max_connections or the user's connection"
                  + " limit, or make a pool smaller. It is tried again");
      case "57P03" ->
          because(
              Kind.UNREACHABLE,
              address,
              failure,
              "the server is starting up, stopping or recovering. It is tried again");
      case "25006" ->
          because(
              Kind.STANDBY,
              address,
              failure,
              "this server is a standby, and a standby refuses LISTEN; give the primary's address"
                  + " with listenAddress(...). It is tried again, in case it is promoted");
      // pgjdbc-ng's first statements meet those of others, or find their own gone.
      case "26000", "42P05" ->
          because(
              Kind.POOLER,
              address,
              failure,
              "prepared statements of several sessions are mixed up: a transaction-mode pooler such"
                  + " as PgBouncer stands between; give the server's own address with"
                  + " listenAddress(...)");
      default -> byClass(address, state, failure);
    };
  }

  /** The echo of the first NOTIFY never came, though LISTEN was accepted. */
  static Deafness pooler(ListenAddress address) {
    return new Deafness(
        Kind.POOLER,
        at(address)
            + "LISTEN is accepted but nothing is heard: a transaction-mode pooler such as PgBouncer"
            + " stands between; give the server's own address with listenAddress(...)");
  }

  /** A connection that was heard has ended. */
  static Deafness lost(ListenAddress address, @Nullable String why) {
    return new Deafness(
        Kind.LOST,
        "the LISTEN connection to " + address + " was lost (" + why + "); it is renewed");
  }

  /** A connection that was heard says nothing any more. */
  static Deafness silent(ListenAddress address, Duration deadline) {
    return new Deafness(
        Kind.LOST,
        "the LISTEN connection to "
            + address
            + " fell silent: a NOTIFY to itself did not come back within "
            + deadline.toMillis()
            + " ms (network or server frozen, or UNLISTEN or DISCARD ALL ran on it); it is"
            + " renewed");
  }

  /** Whether the failure is the source's own, so that another one may fare better. */
  static boolean ownFailure(SQLException failure) {
    return switch (failure.getSQLState() == null ? "" : failure.getSQLState()) {
      case "3D000", "42501", "53300", "57P03", "25006" -> false;
      default ->
          !(failure instanceof Deafness.Found)
              && !(failure instanceof SQLTransientConnectionException);
    };
  }

  /**
   * Whether the server itself ended the login: nothing of the connection is left on either side.
   */
  static boolean saidByServer(SQLException failure) {
    var state = failure.getSQLState();
    return state != null && (state.startsWith("28") || state.startsWith("53"));
  }

  private static Deafness byClass(ListenAddress address, String state, SQLException failure) {
    if (state.startsWith("28")) {
      return because(
          Kind.REFUSED,
          address,
          failure,
          "the server does not let user \""
              + user(address)
              + "\" in from here; check pg_hba.conf and the TLS settings");
    }
    if (state.startsWith("53")) {
      return because(
          Kind.FULL, address, failure, "the server is short of a resource. It is tried again");
    }
    if (state.startsWith("0A")) {
      return because(
          Kind.UNSUPPORTED, address, failure, "no wake-up source can use these settings");
    }
    if (state.startsWith("08") || state.startsWith("57")) {
      return because(
          Kind.UNREACHABLE,
          address,
          failure,
          "no connection came about; check that the server runs, host, port and TLS settings. It is"
              + " tried again");
    }
    return because(Kind.FAILED, address, failure, "connecting failed. It is tried again");
  }

  private static Deafness because(
      Kind kind, ListenAddress address, SQLException failure, String why) {
    return new Deafness(kind, at(address) + why + " (" + inShort(failure) + ")");
  }

  /** What the driver or server said, with its SQLState. */
  static String inShort(SQLException failure) {
    var state = failure.getSQLState();
    return (state == null ? "" : state + ": ") + failure.getMessage();
  }

  private static String at(ListenAddress address) {
    return "cannot listen at " + address + ": ";
  }

  private static String user(ListenAddress address) {
    return address.user() == null ? System.getProperty("user.name") : address.user();
  }
}
