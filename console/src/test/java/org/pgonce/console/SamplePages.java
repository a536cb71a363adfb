package org.pgonce.console;

import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.pgonce.testkit.TestDatabase;

/** A page of each kind, and a database in which each shows something. */
final class SamplePages {

  /** Paths by the names of their pictures. */
  static final Map<String, String> ALL = new LinkedHashMap<>();

  static {
    ALL.put("channels", "");
    ALL.put("channel", "channel/mails");
    ALL.put("channel-dead", "channel/mails?show=dead");
    ALL.put("channel-work", "channel/mails?show=work");
    ALL.put("notification", "channel/mails/1");
    ALL.put("dead", "dead");
    ALL.put("listeners", "listeners");
    ALL.put("definitions", "definitions");
    ALL.put("log", "log");
    ALL.put("server", "server");
    ALL.put("act", "act?do=redrive&channel=mails&all=yes");
    ALL.put("refused", "channel/none");
  }

  private SamplePages() {}

  static void fill(TestDatabase database) throws SQLException {
    Stage.publish(database, "{\"to\": \"ann@example.org\"}");
    Stage.retrying(database, "421 service not available");
    Stage.bury(database, 12, "ATTEMPTS_USED_UP", "421 service not available");
    Stage.bury(database, 3, "REJECTED", "no such account");
  }
}
