package org.pgonce.internal.wakeup;

import java.sql.SQLException;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Why nothing is heard at the moment. Work goes on by polling meanwhile.
 *
 * @param reason a sentence for logs and status: what, where, why, what to do
 */
public record Deafness(Kind kind, String reason) {

  /** What sort of reason it is. */
  public enum Kind {
    /** Nobody answers there, or a server that is starting or stopping. Mends itself. */
    UNREACHABLE,
    /** The server has no connection left. Mends itself. */
    FULL,
    /** The server does not let this login into this database. Somebody has to change something. */
    REFUSED,
    /** No source can connect with these settings. Somebody has to change something. */
    UNSUPPORTED,
    /** A standby: it refuses LISTEN. Mends itself when it is promoted. */
    STANDBY,
    /** LISTEN is accepted and nothing is heard. Somebody has to give the server's own address. */
    POOLER,
    /** Something answers, and connecting failed for a reason that is not known here. */
    FAILED,
    /** The connection was heard and broke, or its echo did not come. Mends itself. */
    LOST,
    /** Polling only: there is no address or no source. */
    POLLING,
    /** Hearing is closed. */
    CLOSED
  }

  /** Whether trying again is pointless until somebody changes a setting or a right. */
  public boolean permanent() {
    return kind == Kind.REFUSED || kind == Kind.UNSUPPORTED;
  }

  /** Of several addresses: transient if one of them is, all reasons together. */
  static Deafness together(List<Deafness> each) {
    var kind = each.stream().filter(one -> !one.permanent()).findFirst().orElse(each.get(0)).kind();
    return new Deafness(
        kind, each.stream().map(Deafness::reason).distinct().collect(Collectors.joining("; ")));
  }

  /** Carries a deafness up to where it is decided what to try next. */
  static final class Found extends SQLException {
    private static final long serialVersionUID = 1;
    private final transient Deafness deafness;

    Found(Deafness deafness) {
      super(deafness.reason());
      this.deafness = deafness;
    }

    Deafness deafness() {
      return deafness;
    }
  }
}
