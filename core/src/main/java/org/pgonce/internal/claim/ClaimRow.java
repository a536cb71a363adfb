package org.pgonce.internal.claim;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.ClaimSession.HeldBy;

/** A row that a claim has returned: see {@link ClaimSql#COLUMNS}. */
record ClaimRow(ResultSet row) {

  /** Whether it tells only what was looked at. */
  boolean isEmpty() throws SQLException {
    return row.getString("id") == null;
  }

  Claim held(int subscription, boolean scheduled, HeldBy held) throws SQLException {
    var token = row.getString("token");
    return new Claim(
        subscription,
        row.getLong("id"),
        scheduled,
        row.getInt("attempts"),
        token,
        time("created_at"),
        time("claimed_at"),
        payload(work -> work.on(held.connection()), subscription, scheduled),
        headers(),
        token != null || !"0".equals(row.getString("held")),
        new ClaimHolder(held.pid(), time("claimed_at"), held.idleBefore()),
        held.sessionBefore());
  }

  Claim leased(int subscription, Payload.Reading reading) throws SQLException {
    return new Claim(
        subscription,
        row.getLong("id"),
        true,
        row.getInt("attempts"),
        row.getString("token"),
        time("created_at"),
        time("claimed_at"),
        payload(reading, subscription, true),
        headers(),
        row.getBoolean("died"),
        null,
        null);
  }

  private Payload payload(Payload.Reading reading, int subscription, boolean scheduled)
      throws SQLException {
    var text = row.getString("payload");
    return text == null
        ? new Payload.Stored(reading, subscription, row.getLong("id"), scheduled)
        : new Payload.Fetched(text);
  }

  private NotificationHeaders headers() throws SQLException {
    return NotificationHeaders.stamped(
        row.getString("delivery_key"),
        row.getString("order_key"),
        row.getString("context"),
        row.getInt("stamp"));
  }

  private Instant time(String column) throws SQLException {
    return row.getObject(column, OffsetDateTime.class).toInstant();
  }

  /** What was looked at, where a key has its own order or limit; null if nothing. */
  KeyLook.@Nullable Seen seen() throws SQLException {
    return KeyLook.Seen.read(row);
  }
}
