package org.pgonce.guards.internal;

import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.pgonce.internal.text.Json;
import org.pgonce.spi.PayloadCodec;

/** What tells one request from another, and does not give it away. */
final class Fingerprint {

  // What is nested deeper is left as it is.
  private static final int DEEPEST = 500;

  private Fingerprint() {}

  /** SHA-256 of the encoded request, its properties in order and without null, hexadecimal. */
  static <Q> String of(PayloadCodec codec, Q request, Class<Q> type) {
    try {
      var digest = MessageDigest.getInstance("SHA-256");
      var text = inOrder(codec.encode(request, type));
      digest.update(StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text)));
      return HexFormat.of().formatHex(digest.digest());
    } catch (CharacterCodingException e) {
      // getBytes would make the same question mark of each, and one request of two.
      throw new IllegalArgumentException(
          "the JSON of the request holds a lone surrogate, which is no character; remove or replace it",
          e);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  // A map's order may differ from JVM to JVM (Map.of, HashMap); the request is the same.
  private static String inOrder(String json) {
    try {
      return inOrder(json.strip(), 0);
    } catch (IllegalArgumentException unusual) {
      return json; // A codec of the user's own; its text is as good a fingerprint.
    }
  }

  /**
   * The same without space, with the members of all its objects in the order of their names. Null
   * is left out: the same request, when its record has got a component that may be null.
   */
  private static String inOrder(String json, int depth) {
    if (depth > DEEPEST) {
      throw new IllegalArgumentException("it is nested more than " + DEEPEST + " deep");
    }
    if (json.startsWith("{")) {
      return new TreeMap<>(Json.members(json))
          .entrySet().stream()
              .filter(member -> !member.getValue().equals("null"))
              .map(member -> Json.of(member.getKey()) + ":" + inOrder(member.getValue(), depth + 1))
              .collect(Collectors.joining(",", "{", "}"));
    }
    return json.startsWith("[")
        ? Json.elements(json).stream()
            .map(element -> inOrder(element, depth + 1))
            .collect(Collectors.joining(",", "[", "]"))
        : json;
  }
}
