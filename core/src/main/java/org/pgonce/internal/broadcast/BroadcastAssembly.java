package org.pgonce.internal.broadcast;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/**
 * Joins the parts of broadcasts. PostgreSQL delivers the NOTIFYs of a transaction together and in
 * order, so one message at most is incomplete. Any other part is forged, or follows a gap. Used by
 * one thread.
 */
final class BroadcastAssembly {

  // As pgonce.broadcast writes it: id/part/parts:text, or id/part/parts/version/depth:text.
  private static final Pattern PART =
      Pattern.compile(
          "(\\d{1,18})/(\\d{1,6})/(\\d{1,6})(?:/(\\d{1,5})/(\\d{1,5}))?:(.*)", Pattern.DOTALL);
  private static final int MAX_LENGTH = 1024 * 1024;

  private final StringBuilder text = new StringBuilder();
  private long id = -1;
  private int lastPart;

  /** A whole message, and how many handlers led to it. */
  record Message(long id, int version, int depth, String payload) {}

  /**
   * @return the message that the part completes; null if it is incomplete
   * @throws UnreadablePayloadException if this is no part of any message
   */
  @Nullable Message add(String part) throws UnreadablePayloadException {
    var matcher = PART.matcher(part);
    if (!matcher.matches()) {
      throw new UnreadablePayloadException(
          "it was not sent by pgonce.broadcast (a forged NOTIFY?)");
    }
    var itsId = Long.parseLong(matcher.group(1));
    var number = Integer.parseInt(matcher.group(2));
    var parts = Integer.parseInt(matcher.group(3));
    var depth = matcher.group(5) == null ? 0 : Integer.parseInt(matcher.group(5));
    if (parts == 0) {
      throw new UnreadablePayloadException(
          "its payload is larger than 1 MiB, which BROADCAST does not carry; publish a reference instead");
    }
    if (number == 1) {
      begin(itsId);
    } else if (itsId != id || number != lastPart + 1 || text.length() > MAX_LENGTH) {
      begin(-1);
      throw new UnreadablePayloadException(
          "part " + number + " of " + parts + " follows no part before it");
    }
    lastPart = number;
    text.append(matcher.group(6));
    if (number < parts) {
      return null;
    }
    var version = matcher.group(4) == null ? 1 : Integer.parseInt(matcher.group(4));
    var whole = new Message(id, version, depth, text.toString());
    begin(-1);
    return whole;
  }

  private void begin(long next) {
    id = next;
    text.setLength(0);
  }
}
