package org.pgonce.spi;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.pgonce.Channel;

/**
 * What feeds a channel: its publishers' code, or a trigger on a table. Installed in the transaction
 * that installs the channel, checked when a listener starts. By default there is nothing to install
 * and nothing that could drift.
 */
@FunctionalInterface
public interface ChannelFeed {

  /** Fed by code that calls publish. */
  ChannelFeed PUBLISHED = () -> "published";

  /**
   * What the channel is fed by, as one line that is stored with the installed channel: two
   * definitions that differ here are different channels. For example {@code published} or {@code
   * trigger on public.author after insert}.
   */
  String description();

  /**
   * Creates or renews what feeds the channel. Idempotent. Runs after the channel's own row is
   * written, in the same transaction; never commits or rolls back.
   *
   * @throws SQLException when the database refuses; the caller rolls everything back
   */
  default void install(Connection transaction, Channel<?> channel) throws SQLException {}

  /**
   * Compares the definition with the database, read-only.
   *
   * @return one line per difference, each with what is wrong and what to do; empty if none
   */
  default List<String> problems(Connection connection, Channel<?> channel) throws SQLException {
    return List.of();
  }

  /**
   * What works otherwise than one may expect, without keeping a listener from starting; read-only.
   * A listener logs it at its start. While it runs, it asks for this and for {@link #problems} now
   * and then, and logs what is new.
   *
   * @return one line each, with what to do; empty if none
   */
  default List<String> warnings(Connection connection, Channel<?> channel) throws SQLException {
    return List.of();
  }

  /**
   * The SQL that {@link #install} amounts to, for a reviewer and a migration tool; empty if there
   * is none.
   *
   * @param feeds how many feeds the same script installs: what one of them has locked, it keeps
   *     while the next one waits
   */
  default String migration(Channel<?> channel, int feeds) {
    return "";
  }
}
