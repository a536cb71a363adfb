package org.pgonce.example.campaign;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.pgonce.example.run.Console;
import org.pgonce.operations.Operations;

/**
 * The mail service is down for a while in the middle of the run, and somebody resumes the campaign
 * when it is back. For one thread.
 */
final class ServiceOutage {

  private final MailServer server;
  private final Operations operations;
  private final Console console;
  private final Duration length;
  private final long begins;
  private boolean over;
  private long pausedAt;
  private long deliveredAtPause = -1;
  private boolean heldThroughout = true;

  /**
   * @param length from the pause to the service's return
   * @param begins at so many mails
   */
  ServiceOutage(
      MailServer server, Operations operations, Console console, Duration length, long begins) {
    this.server = server;
    this.operations = operations;
    this.console = console;
    this.length = length;
    this.begins = begins;
  }

  void step(Connection connection) throws SQLException {
    if (!over && !server.isDown() && server.delivered() >= begins) {
      server.setDown(true);
    }
    var pause = pause(connection);
    if (over) {
      if (pause != null) {
        resume(); // by a handler that had called the service while it still was down
      }
    } else if (server.isDown() && deliveredAtPause < 0 && pause != null) {
      deliveredAtPause = server.delivered();
      pausedAt = System.nanoTime();
      console.tell("paused       by " + pause);
    } else if (deliveredAtPause >= 0 && System.nanoTime() - pausedAt > length.toNanos()) {
      heldThroughout = pause != null && server.delivered() == deliveredAtPause;
      over = true;
      server.setDown(false);
      resume();
      console.tell("resumed      the mail service is back");
    }
  }

  private void resume() {
    var unused = operations.by("Anna").resume(MailCampaign.LOTS, "the mail service is back");
  }

  /** By whom and why; null if it is not paused. */
  private static @Nullable String pause(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row =
            statement.executeQuery(
                "select paused_by || ': ' || pause_reason from pgonce.channel_status where channel = 'campaign.lots'")) {
      return row.next() ? row.getString(1) : null;
    }
  }

  /**
   * Whether the campaign paused, stayed so until it was resumed, and nothing was sent meanwhile.
   */
  boolean isKept() {
    return over && heldThroughout;
  }
}
