package org.pgonce.internal.claim;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Statements;

/**
 * Where one claim looks for a row: the parameters of sql/claim_by_key.sql.
 *
 * @param number counts the looks of a cursor, in the order in which they begin
 * @param ways tried one after the other until one finds a row
 * @param keys for {@link Way#KEYS}: the first row of each is tried
 * @param after for {@link Way#NEAR}: the position behind which rows are tried in their order
 * @param walkFrom for {@link Way#WALK}: the key behind which it begins; null if it does not walk
 */
public record KeyLook(
    long number, List<Way> ways, List<String> keys, At after, @Nullable String walkFrom) {

  public enum Way {
    KEYS,
    NEAR,
    WALK
  }

  /**
   * A position in the order of the rows.
   *
   * @param us when a scheduled row is due, in microseconds since 1970; 0 for a new one
   */
  public record At(long us, long id) implements Comparable<At> {

    public static final At START = new At(0, 0);

    @Override
    public int compareTo(At other) {
      return us == other.us ? Long.compare(id, other.id) : Long.compare(us, other.us);
    }
  }

  /**
   * What a look has seen, whether it has found a row or not.
   *
   * @param probed how many of the keys were tried
   * @param reached the last position that was tried
   * @param passed whether a row was passed over that waits for the end of another claim
   * @param unseen whether more rows lie behind that position
   * @param nearUs microseconds that {@link Way#NEAR} took the server; 0 if it was not reached
   * @param walkUs the same for {@link Way#WALK}
   * @param busy keys that were passed over: others have locked them, or their row
   * @param walked the last key of the walk; empty at its end, null if it was not reached
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

    static @Nullable Seen read(ResultSet row) throws SQLException {
      var seen = row.getString("seen");
      if (seen == null) {
        return null;
      }
      var values = Arrays.stream(seen.split(" ")).mapToLong(Long::parseLong).toArray();
      return new Seen(
          (int) values[0],
          new At(values[1], values[2]),
          values[3] != 0,
          values[4] != 0,
          values[5],
          values[6],
          busy(row),
          row.getString("walked"));
    }

    /** In pgjdbc-ng each element of an array that is not freed keeps a buffer for good. */
    private static List<String> busy(ResultSet row) throws SQLException {
      var keys = row.getArray("busy");
      try {
        return List.of((String[]) keys.getArray());
      } finally {
        keys.free();
      }
    }
  }

  /**
   * What a claim has found.
   *
   * @param claims in the order of their ids
   * @param spent whether the attempts of the row are used up: it is locked, and not leased
   * @param seen null if it did not look by key
   */
  public record Result(List<Claim> claims, boolean spent, @Nullable Seen seen) {

    public @Nullable Claim first() {
      return claims.isEmpty() ? null : claims.get(0);
    }
  }

  /** Of a channel that has no keys: new rows with a higher id, or any that are due. */
  public static KeyLook behind(long id) {
    return new KeyLook(0, List.of(Way.NEAR), List.of(), new At(0, id), null);
  }

  static final String PARAMETERS =
      "?::pg_catalog.text::pg_catalog.text[], ?::pg_catalog.text::pg_catalog.text[], ?, ?, ?";

  void bind(PreparedStatement statement, int first) throws SQLException {
    statement.setString(
        first,
        Statements.array(ways.stream().map(way -> way.name().toLowerCase(Locale.ROOT)).toList()));
    statement.setString(first + 1, Statements.array(keys));
    statement.setLong(first + 2, after.us());
    statement.setLong(first + 3, after.id());
    statement.setString(first + 4, walkFrom);
  }
}
