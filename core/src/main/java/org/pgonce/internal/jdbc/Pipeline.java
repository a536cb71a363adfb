package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.jdbc.PreferQueryMode;

/** Commands that are sent in one message where the driver can do that, else one by one. */
public final class Pipeline {

  /** Only where {@link #isPossible}: it must not be reached when a command before it has failed. */
  public static final Part<Boolean> COMMIT = command("COMMIT");

  // The texts are constants of this library. They are joined once, as a driver looks a statement up
  // by its text, whose hash a new string would have to compute again.
  private static final Map<List<String>, Message> MESSAGES = new ConcurrentHashMap<>();

  // A prepareThreshold: results are binary from a statement's first execution on.
  private static final int BINARY_AT_ONCE = -1;

  private final Connection connection;
  private final List<Sent<?>> parts = new ArrayList<>();

  public Pipeline(Connection connection) {
    this.connection = connection;
  }

  /** A command, and how to read its result. */
  public interface Part<R> {

    /** A constant, in which each question mark is a parameter. */
    String sql();

    /** Sets its parameters, from the index {@code first} on. */
    default void bind(PreparedStatement statement, int first) throws SQLException {}

    /** Reads its result, which is the current one of the statement. */
    R read(Statement executed) throws SQLException;

    /** What is always sent behind it; null for nothing. */
    default @Nullable Part<?> companion() {
      return null;
    }

    /** The failure in other words, where it is this part's. */
    default SQLException explained(SQLException failure) {
      return failure;
    }
  }

  /** Sets parameters, of which the first one has this index. */
  @FunctionalInterface
  public interface Binding {
    void bind(PreparedStatement statement, int first) throws SQLException;
  }

  /** What follows a commit in its message: begins the next transaction. */
  public interface Next {

    void addTo(Pipeline message);

    /** The transaction that it has begun is rolled back. */
    void undone();
  }

  /** The texts of several commands in one, and the index of the first parameter of each. */
  private record Message(String sql, List<Integer> firsts) {

    static Message of(List<String> texts) {
      var firsts = new ArrayList<Integer>();
      var next = 1;
      for (var text : texts) {
        firsts.add(next);
        next += (int) text.chars().filter(letter -> letter == '?').count();
      }
      return new Message(String.join("; ", texts), firsts);
    }
  }

  /** A part that is added, and its result once all are sent. */
  public static final class Sent<R> {
    private final Part<R> part;
    private @Nullable R result;

    private Sent(Part<R> part) {
      this.part = part;
    }

    private void read(Statement executed) throws SQLException {
      result = part.read(executed);
    }

    public R result() {
      return Objects.requireNonNull(result, "not sent");
    }

    /** Whether it was sent, and has not failed. */
    public boolean hasResult() {
      return result != null;
    }
  }

  /** A command without parameters, whose result is passed over. */
  public static Part<Boolean> command(String sql) {
    return new Command(sql);
  }

  private record Command(String sql) implements Part<Boolean> {
    @Override
    public Boolean read(Statement executed) {
      return true;
    }
  }

  /**
   * Whether the driver sends several commands in one message, of which the server executes none
   * behind the first one that fails. pgjdbc-ng prepares one command at a time. pgjdbc in its mode
   * SIMPLE has the server go on behind a failure: a COMMIT there would let go of the row. With a
   * prepareThreshold of -1 pgjdbc takes the columns of all commands for those of the first one.
   */
  public static boolean isPossible(Connection connection) throws SQLException {
    if (PgjdbcNg.made(connection)) {
      return false;
    }
    if (!connection.isWrapperFor(PGConnection.class)) {
      return true;
    }
    var pgjdbc = connection.unwrap(PGConnection.class);
    return pgjdbc.getPreferQueryMode() != PreferQueryMode.SIMPLE
        && pgjdbc.getPrepareThreshold() != BINARY_AT_ONCE;
  }

  public <R> Sent<R> add(Part<R> part) {
    var added = new Sent<>(part);
    parts.add(added);
    var companion = part.companion();
    if (companion != null) {
      add(companion);
    }
    return added;
  }

  /** Sends one by itself. */
  public static <R> R send(Part<R> part, Connection connection) throws SQLException {
    var pipeline = new Pipeline(connection);
    var sent = pipeline.add(part);
    pipeline.send();
    return sent.result();
  }

  public void send() throws SQLException {
    if (parts.size() > 1 && !isPossible(connection)) {
      for (var part : parts) {
        send(List.of(part));
      }
    } else if (!parts.isEmpty()) {
      send(parts);
    }
  }

  private void send(List<Sent<?>> together) throws SQLException {
    var texts = together.stream().map(sent -> sent.part.sql()).toList();
    var message = MESSAGES.computeIfAbsent(texts, Message::of);
    try (var statement = connection.prepareStatement(message.sql())) {
      for (var i = 0; i < together.size(); i++) {
        together.get(i).part.bind(statement, message.firsts().get(i));
      }
      statement.execute();
      read(together, statement);
    } catch (SQLException e) {
      var failure = e;
      for (var sent : together) {
        failure = sent.part.explained(failure);
      }
      throw failure;
    }
  }

  private static void read(List<Sent<?>> together, Statement executed) throws SQLException {
    var isFirst = true;
    for (var sent : together) {
      if (!isFirst) {
        executed.getMoreResults();
      }
      sent.read(executed);
      isFirst = false;
    }
  }
}
