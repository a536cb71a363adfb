package org.pgonce.triggers;

import java.util.HashMap;
import java.util.Map;
import org.pgonce.internal.text.Json;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/**
 * A stored change, taken apart: the rows stay as they were written, to the letter, for the
 * channel's codec to read.
 */
record ChangeDocument(Map<String, String> parts) {

  private static final String OP = "op";

  static ChangeDocument read(String json) throws UnreadablePayloadException {
    try {
      var parts = new HashMap<String, String>();
      Json.members(json)
          .forEach(
              (name, part) -> {
                if (part.startsWith("{")) {
                  parts.put(name, part);
                } else if (name.equals(OP)) {
                  parts.put(name, Json.text(part));
                }
              });
      return new ChangeDocument(parts);
    } catch (IllegalArgumentException e) {
      throw new UnreadablePayloadException("not readable as a change: " + e.getMessage());
    }
  }

  String op() throws UnreadablePayloadException {
    return part(OP);
  }

  String before() throws UnreadablePayloadException {
    return part("old");
  }

  String after() throws UnreadablePayloadException {
    return part("new");
  }

  private String part(String name) throws UnreadablePayloadException {
    var part = parts.get(name);
    if (part == null) {
      throw new UnreadablePayloadException(
          "not readable as a change: it has no %s, or one of another kind".formatted(name));
    }
    return part;
  }
}
