package org.pgonce.internal.wakeup;

import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import javax.net.ssl.SSLException;

/** Whose fault it is that a source could not connect: whether another one may fare better. */
enum Fault {
  /** The source's: it cannot do these settings or speak with this server. */
  SOURCE,
  /** The server's or the network's: nobody would get in. */
  SERVER,
  /** The connection ended under way: a server that goes down, or a source that stumbles. */
  UNCLEAR;

  static Fault of(SQLException failure) {
    if (failure instanceof SQLTransientConnectionException
        || causedBy(failure, ConnectException.class)
        || causedBy(failure, NoRouteToHostException.class)
        || causedBy(failure, UnknownHostException.class)) {
      return SERVER;
    }
    if (causedBy(failure, SSLException.class)) {
      return SOURCE;
    }
    var state = failure.getSQLState() == null ? "" : failure.getSQLState();
    return switch (state.length() < 2 ? "" : state.substring(0, 2)) {
      case "3D", "42" -> state.equals("42P05") ? SOURCE : SERVER;
      case "53", "57" -> SERVER;
      case "08" -> UNCLEAR;
      default -> SOURCE;
    };
  }

  private static boolean causedBy(Throwable failure, Class<? extends Exception> type) {
    // Bounded: nothing keeps a chain of causes from being a circle.
    for (int depth = 0; depth < 20 && failure != null; depth++) {
      if (type.isInstance(failure)) {
        return true;
      }
      failure = failure.getCause();
    }
    return false;
  }
}
