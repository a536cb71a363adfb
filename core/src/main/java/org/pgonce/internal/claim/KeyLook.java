package org.pgonce.internal.claim;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Where a claim looks for a row of a channel that has an order or a limit per key, as
 * sql/claim_by_key.sql tells of it.
 *
 * @param ways in which it looks, one after the other, until it finds a row
 * @param keys whose first rows it tries
 * @param after the place behind which it looks for rows in their order
 * @param walkFrom the key behind which it goes on from key to key; null if it does not
 */
public record KeyLook(List<Way> ways, List<String> keys, At after, @Nullable String walkFrom) {

  /** A way to look. */
  public enum Way {
    KEYS,
    NEAR,
    WALK
  }

  /**
   * A place in the order of the rows.
   *
   * @param us of scheduled rows, when they are due, microseconds since 1970; 0 for new ones
   */
  public record At(long us, long id) implements Comparable<At> {

    /** Before all rows. */
    public static final At START = new At(0, 0);

    @Override
    public int compareTo(At other) {
      return us == other.us ? Long.compare(id, other.id) : Long.compare(us, other.us);
    }
  }

  /**
   * What such a look has seen, whether it has found a row or not.
   *
   * @param probed how many of the keys it has tried
   * @param reached the place up to which it has looked at rows in their order
   * @param passed whether it passed over a row that the end of another one at work may set free
   * @param unseen whether more rows lie behind the place reached than it may look at
   * @param nearUs what that took the server, in microseconds
   * @param walkUs what its part of the walk took
   * @param busy keys that another claim has locked
   * @param walked the last key of the walk; empty if the walk is at its end, null if there was none
   */
  public record Seen(
      int probed,
      At reached,
      boolean passed,
      boolean unseen,
      long nearUs,
      long walkUs,
      List<String> busy,
      @Nullable String walked) {

    /** Null where nothing was looked at. */
    static @Nullable Seen read(ResultSet row) throws SQLException {
      var seen = row.getString("seen");
      if (seen == null) {
        return null;
      }
      var values = Arrays.stream(seen.split(" ")).mapToLong(Long::parseLong).toArray();
      var busy = row.getArray("busy");
      return new Seen(
          (int) values[0],
          new At(values[1], values[2]),
          values[3] != 0,
          values[4] != 0,
          values[5],
          values[6],
          List.of((String[]) busy.getArray()),
          row.getString("walked"));
    }
  }

  /**
   * What a claim has found, and seen.
   *
   * @param claim null if there was none
   * @param seen null if it has not looked
   */
  public record Result(@Nullable Claim claim, @Nullable Seen seen) {}

  /** Where there is neither: behind an id. */
  public static KeyLook behind(long id) {
    return new KeyLook(List.of(), List.of(), new At(0, id), null);
  }

  /** Of a claim by key, behind those of its row. */
  static final String COLUMNS = ", c.seen, c.busy, c.walked";

  /** Those that {@link #bind} sets. */
  static final String PARAMETERS =
      "?::pg_catalog.text::pg_catalog.text[], ?::pg_catalog.text::pg_catalog.text[], ?, ?, ?";

  void bind(PreparedStatement statement, int first) throws SQLException {
    // As text: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9.
    statement.setString(
        first, array(ways.stream().map(way -> way.name().toLowerCase(Locale.ROOT)).toList()));
    statement.setString(first + 1, array(keys));
    statement.setLong(first + 2, after.us());
    statement.setLong(first + 3, after.id());
    statement.setString(first + 4, walkFrom);
  }

  private static String array(Collection<String> values) {
    return values.stream()
        .map(value -> '"' + value.replace("\\", "\\\\").replace("\"", "\\\"") + '"')
        .collect(Collectors.joining(",", "{", "}"));
  }
}
