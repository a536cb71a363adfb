package org.pgonce.guards.internal;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.pgonce.internal.text.Json;
import org.pgonce.spi.PayloadCodec;

/** What tells one request from another, and does not give it away. */
final class Fingerprint {

  private Fingerprint() {}

  /** SHA-256 of the encoded request with its properties in order, hexadecimal. */
  static <Q> String of(PayloadCodec codec, Q request, Class<Q> type) {
    try {
      var digest = MessageDigest.getInstance("SHA-256");
      var bytes = inOrder(codec.encode(request, type)).getBytes(StandardCharsets.UTF_8);
      return HexFormat.of().formatHex(digest.digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  // A map's order may differ from JVM to JVM (Map.of, HashMap); the request is the same.
  private static String inOrder(String json) {
    try {
      return Json.inOrder(json);
    } catch (IllegalArgumentException unusual) {
      return json; // A codec of the user's own; its text is as good a fingerprint.
    }
  }
}
