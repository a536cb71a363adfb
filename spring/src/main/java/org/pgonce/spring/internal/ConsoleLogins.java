package org.pgonce.spring.internal;

import jakarta.servlet.http.HttpServletRequest;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.Visitor;

/** Who a visitor of the console is, as the application knows it. */
interface ConsoleLogins {

  /**
   * What this visitor may.
   *
   * @param visitor null: may not look
   * @param why for a visitor who may not look
   */
  record Access(@Nullable Visitor visitor, String why) {

    static Access to(Visitor visitor) {
      return new Access(visitor, "");
    }

    static Access refused(String why) {
      return new Access(null, why);
    }
  }

  Access of(HttpServletRequest request);

  /** What applies, for the log at the start. */
  String rules();
}
