package org.pgonce.example.latency;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.function.LongConsumer;
import org.pgonce.example.DatabaseAddress;

/** One way from a commit to a handler, with its listener at work until it is closed. */
public abstract class Contender implements AutoCloseable {

  private final Connection writer;
  private final PreparedStatement insert;

  /**
   * @param insert one statement, which commits by itself, with the id as its parameters
   */
  Contender(DatabaseAddress address, String insert) throws SQLException {
    this.writer = address.dataSource().getConnection();
    this.insert = writer.prepareStatement(insert);
  }

  /** The ways that are compared. */
  public enum Way {
    PGONCE("pgonce"),
    NOTIFY("bare NOTIFY"),
    BY_HAND("by hand");

    private final String label;

    Way(String label) {
      this.label = label;
    }

    String label() {
      return label;
    }

    /** Starts its listener, which hands the id of each row to the handler as the handler starts. */
    Contender open(DatabaseAddress address, LongConsumer handler) throws SQLException {
      return switch (this) {
        case PGONCE -> new ByPgOnce(address, handler);
        case NOTIFY -> new ByNotify(address, handler);
        case BY_HAND -> new ByHand(address, handler);
      };
    }
  }

  /** Returns when it is committed. */
  final void insert(long id) throws SQLException {
    for (var i = 1; i <= insert.getParameterMetaData().getParameterCount(); i++) {
      insert.setLong(i, id);
    }
    insert.execute();
  }

  @Override
  public void close() throws SQLException {
    writer.close();
  }
}
