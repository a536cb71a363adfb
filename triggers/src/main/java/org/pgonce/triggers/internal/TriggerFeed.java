package org.pgonce.triggers.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.pgonce.Channel;
import org.pgonce.spi.ChannelFeed;

/** Feeds a channel by a trigger. */
public final class TriggerFeed implements ChannelFeed {

  private final Capture capture;

  public TriggerFeed(Capture capture) {
    this.capture = capture;
  }

  @Override
  public String description() {
    return capture.description();
  }

  @Override
  public void install(Connection transaction, Channel<?> channel) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(CaptureFunction.create(capture));
      statement.execute(
          "ALTER FUNCTION " + CaptureFunction.name(capture) + "() OWNER TO pgonce_owner");
      statement.execute(CaptureTrigger.create(capture, capture.table()));
    }
  }

  @Override
  public List<String> problems(Connection connection, Channel<?> channel) throws SQLException {
    return List.of();
  }

  @Override
  public String migration(Channel<?> channel) {
    return "SET ROLE pgonce_owner;\n"
        + CaptureFunction.create(capture)
        + "RESET ROLE;\n"
        + CaptureTrigger.create(capture, capture.table());
  }
}
