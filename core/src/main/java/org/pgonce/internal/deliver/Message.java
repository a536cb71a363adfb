package org.pgonce.internal.deliver;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Commands that a driver sends in one message, all of them constants of this library. They are
 * joined once: a driver looks its statements up by their text, whose hash a new string would have
 * to compute again.
 */
record Message(String before, String statement, String behind) {

  private static final Map<Message, String> TEXTS = new ConcurrentHashMap<>();

  /** The text of them, without those that are empty; as constants there are not many. */
  static String of(String before, String statement, String behind) {
    return TEXTS.computeIfAbsent(
        new Message(before, statement, behind),
        parts ->
            Stream.of(parts.before(), parts.statement(), parts.behind())
                .filter(part -> !part.isEmpty())
                .collect(Collectors.joining("; ")));
  }
}
