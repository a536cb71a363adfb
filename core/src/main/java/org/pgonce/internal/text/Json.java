package org.pgonce.internal.text;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Writes small JSON, and takes JSON apart without changing a letter of its parts. So pgonce works
 * with any library for JSON, or none. It looks for no more than where a part ends: whether the part
 * is JSON is for its reader to say.
 */
public final class Json {

  private static final String SPACE = " \t\n\r";
  // What stands behind a backslash, and what it means.
  private static final String ESCAPES = "\"\\bfnrt/";
  private static final String ESCAPED = "\"\\\b\f\n\r\t/";

  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  /** Maps, collections, texts, numbers, booleans, null. */
  public static String of(@Nullable Object value) {
    if (value instanceof Map<?, ?> map) {
      return map.entrySet().stream()
          .map(entry -> quoted(String.valueOf(entry.getKey())) + ":" + of(entry.getValue()))
          .collect(Collectors.joining(",", "{", "}"));
    }
    if (value instanceof Collection<?> several) {
      return several.stream().map(Json::of).collect(Collectors.joining(",", "[", "]"));
    }
    return value instanceof CharSequence letters ? quoted(letters) : String.valueOf(value);
  }

  private static String quoted(CharSequence letters) {
    var quoted = new StringBuilder(letters.length() + 2).append('"');
    letters
        .chars()
        .forEach(
            unit -> {
              var letter = (char) unit;
              var escape = letter == '/' ? -1 : ESCAPED.indexOf(letter);
              if (escape >= 0) {
                quoted.append('\\').append(ESCAPES.charAt(escape));
              } else if (letter < ' ') {
                quoted.append("\\u%04x".formatted(unit));
              } else {
                quoted.append(letter);
              }
            });
    return quoted.append('"').toString();
  }

  /**
   * The members of an object, in their order, each as it stands there.
   *
   * @throws IllegalArgumentException if it is no object, something follows it, or two members have
   *     one name
   */
  public static Map<String, String> members(String json) {
    var scan = new Json(json);
    var members = new LinkedHashMap<String, String>();
    scan.each(
        '{',
        '}',
        () -> {
          var name = text(scan.value());
          scan.expect(':');
          if (members.put(name, scan.value()) != null) {
            throw new IllegalArgumentException("two members have one name");
          }
        });
    return members;
  }

  /**
   * The elements of an array, each as it stands there.
   *
   * @throws IllegalArgumentException if it is no array, or something follows it
   */
  public static List<String> elements(String json) {
    var scan = new Json(json);
    var elements = new ArrayList<String>();
    scan.each('[', ']', () -> elements.add(scan.value()));
    return elements;
  }

  /**
   * What a JSON string says.
   *
   * @throws IllegalArgumentException if it is no string
   */
  public static String text(String json) {
    var end = json.length() - 1;
    if (end < 1 || json.charAt(0) != '"' || json.charAt(end) != '"') {
      throw new IllegalArgumentException("it is no string");
    }
    var text = new StringBuilder(end);
    for (var i = 1; i < end; i++) {
      var letter = json.charAt(i);
      if (letter != '\\') {
        text.append(letter);
      } else if (json.charAt(++i) == 'u' && i + 5 <= end) {
        text.append((char) HexFormat.fromHexDigits(json, i + 1, i + 5));
        i += 4;
      } else {
        var escape = ESCAPES.indexOf(json.charAt(i));
        if (escape < 0) {
          throw new IllegalArgumentException("it has an unknown escape");
        }
        text.append(ESCAPED.charAt(escape));
      }
    }
    return text.toString();
  }

  private void each(char open, char close, Runnable part) {
    expect(open);
    if (!next(close)) {
      do {
        part.run();
      } while (next(','));
      expect(close);
    }
    skipSpace();
    if (at < text.length()) {
      throw new IllegalArgumentException("something follows it");
    }
  }

  private String value() {
    skipSpace();
    var begin = at;
    var open = 0;
    do {
      var letter = peek();
      if (letter == '"') {
        skipString();
      } else if (letter == '{' || letter == '[') {
        open++;
        at++;
      } else if (letter == '}' || letter == ']') {
        open--;
        at++;
      } else if (open > 0) {
        at++;
      } else {
        skipWord();
      }
    } while (open > 0);
    if (at == begin || open < 0) {
      throw new IllegalArgumentException("a value is missing");
    }
    return text.substring(begin, at);
  }

  private void skipString() {
    at++;
    while (peek() != '"') {
      at += peek() == '\\' ? 2 : 1;
    }
    at++;
  }

  private void skipWord() {
    while (at < text.length() && (SPACE + ",:]}[{\"").indexOf(text.charAt(at)) < 0) {
      at++;
    }
  }

  private void expect(char letter) {
    if (!next(letter)) {
      throw new IllegalArgumentException("a %s is missing".formatted(letter));
    }
  }

  private boolean next(char letter) {
    skipSpace();
    var there = at < text.length() && text.charAt(at) == letter;
    at += there ? 1 : 0;
    return there;
  }

  private char peek() {
    if (at >= text.length()) {
      throw new IllegalArgumentException("it ends too early");
    }
    return text.charAt(at);
  }

  private void skipSpace() {
    while (at < text.length() && SPACE.indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }
}
