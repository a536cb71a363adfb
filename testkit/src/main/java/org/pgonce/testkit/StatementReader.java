package org.pgonce.testkit;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Follows the client's side of PostgreSQL's wire protocol (version 3) and tells which SQL it asks
 * the server to run.
 *
 * <p>The bytes alone do not say: drivers parse a statement once and then run it by its name, {@code
 * COMMIT} included.
 */
final class StatementReader {

  private static final int SSL_REQUEST = 80_877_103;
  private static final int GSS_REQUEST = 80_877_104;
  private static final int LENGTH_BYTES = 4;
  private static final int MAX_STARTUP = 10_000; // the server's own bound
  private static final int MAX_KEPT = 65_536;

  private final Map<String, String> prepared = new HashMap<>();
  private final ByteArrayOutputStream head = new ByteArrayOutputStream();
  private final ByteArrayOutputStream body = new ByteArrayOutputStream();
  private int bodyLeft;
  private boolean startup = true;
  private boolean encrypted;

  /** The statements whose last message ends in this chunk, in the order of their messages. */
  List<String> read(byte[] chunk) {
    var run = new ArrayList<String>();
    var at = 0;
    while (at < chunk.length && !encrypted) {
      if (head.size() < headBytes()) {
        head.write(chunk[at++]);
        if (head.size() < headBytes()) {
          continue;
        }
        bodyLeft =
            ByteBuffer.wrap(head.toByteArray()).getInt(headBytes() - LENGTH_BYTES) - LENGTH_BYTES;
        encrypted = bodyLeft < 0 || (startup && bodyLeft > MAX_STARTUP);
      }
      var length = Math.min(bodyLeft, chunk.length - at);
      body.write(chunk, at, Math.min(length, MAX_KEPT - body.size()));
      at += length;
      bodyLeft -= length;
      if (bodyLeft == 0) {
        endMessage(run);
      }
    }
    return run;
  }

  /** The first message has no type. */
  private int headBytes() {
    return startup ? LENGTH_BYTES : 1 + LENGTH_BYTES;
  }

  private void endMessage(List<String> run) {
    var message = ByteBuffer.wrap(body.toByteArray());
    if (startup) {
      var code = message.remaining() < Integer.BYTES ? 0 : message.getInt();
      startup = code == SSL_REQUEST || code == GSS_REQUEST; // refused, and then comes the real one
    } else {
      switch (head.toByteArray()[0]) {
        case 'Q' -> run.add(string(message));
        case 'P' -> prepared.put(string(message), string(message));
        case 'B' -> {
          string(message); // the portal
          run.add(prepared.getOrDefault(string(message), ""));
        }
        case 'C' -> {
          if (message.get() == 'S') {
            prepared.remove(string(message));
          }
        }
        default -> {
          // Runs nothing.
        }
      }
    }
    head.reset();
    body.reset();
  }

  private static String string(ByteBuffer message) {
    var from = message.position();
    while (message.hasRemaining()) {
      if (message.get() == 0) {
        return decode(message, from, message.position() - 1);
      }
    }
    return decode(message, from, message.limit()); // longer than what is kept
  }

  private static String decode(ByteBuffer message, int from, int to) {
    var bytes = new byte[to - from];
    message.get(from, bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
