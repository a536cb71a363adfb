package org.pgonce.triggers;

import java.util.HashMap;
import java.util.Map;
import org.pgonce.spi.JacksonCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.json.JsonMapper;

/**
 * A stored change, taken apart: the rows stay as they were written, to the letter, for the
 * channel's codec to read.
 */
record ChangeDocument(Map<String, String> parts) {

  private static final String OP = "op";
  private static final JsonMapper MAPPER = JacksonCodec.strict().build();

  static ChangeDocument read(String json) throws UnreadablePayloadException {
    var parts = new HashMap<String, String>();
    try (var parser = MAPPER.createParser(json)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw new UnreadablePayloadException("not readable as a change: it is no object");
      }
      while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
        var name = parser.currentName();
        var isRow = parser.nextToken() == JsonToken.START_OBJECT;
        var begin = (int) parser.currentTokenLocation().getCharOffset();
        parser.skipChildren();
        if (isRow) {
          parts.put(name, json.substring(begin, (int) parser.currentLocation().getCharOffset()));
        } else if (name.equals(OP)) {
          parts.put(name, parser.getString());
        }
      }
      if (parser.nextToken() != null) {
        throw new UnreadablePayloadException("not readable as a change: something follows it");
      }
    } catch (JacksonException e) {
      throw new UnreadablePayloadException(
          "not readable as a change: " + e.getClass().getSimpleName());
    }
    return new ChangeDocument(parts);
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
