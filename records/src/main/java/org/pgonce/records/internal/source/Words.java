package org.pgonce.records.internal.source;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import javax.lang.model.SourceVersion;

/**
 * The words of a name in SQL, put together as names in Java are. What no Java identifier may hold
 * parts two words, as an underscore does.
 */
final class Words {

  private final List<String> words;

  private Words(List<String> words) {
    this.words = words;
  }

  static Words of(String name) {
    var words = new ArrayList<String>();
    var word = new StringBuilder();
    name.codePoints()
        .forEach(
            c -> {
              if (isPart(c)) {
                word.appendCodePoint(c);
              } else {
                flush(word, words);
              }
            });
    flush(word, words);
    return new Words(words);
  }

  private static void flush(StringBuilder word, List<String> words) {
    if (!word.isEmpty()) {
      words.add(word.toString());
      word.setLength(0);
    }
  }

  private static boolean isPart(int c) {
    return Character.isJavaIdentifierPart(c)
        && !Character.isIdentifierIgnorable(c)
        && c != '_'
        && c != '$';
  }

  /** Whether it can be a constant's or a component's name as it stands. */
  static boolean isIdentifier(String name) {
    // $ is for compilers; what is ignorable would make two names that look the same.
    return !name.isEmpty()
        && Character.isJavaIdentifierStart(name.codePointAt(0))
        && name.codePoints().allMatch(c -> isPart(c) || c == '_')
        && !SourceVersion.isKeyword(name);
  }

  /** For a record's component: {@code createdAt}. */
  String camelCase(String ifNone) {
    var name = new StringBuilder();
    for (var word : words) {
      var calm = calm(word);
      name.append(name.isEmpty() ? first(calm, Character::toLowerCase) : capital(calm));
    }
    return started(name.toString(), ifNone, "_");
  }

  /** For a type: {@code OpenOrder}. */
  String pascalCase(String ifNone) {
    var name = words.stream().map(Words::calm).map(Words::capital).collect(Collectors.joining());
    return started(name, ifNone, ifNone);
  }

  /** For an enum's constant: {@code SO_SO}. */
  String upperCase(String ifNone) {
    var name =
        words.stream().map(word -> word.toUpperCase(Locale.ROOT)).collect(Collectors.joining("_"));
    return started(name, ifNone, "_");
  }

  private static String started(String name, String ifNone, String before) {
    if (name.isEmpty()) {
      return ifNone;
    }
    return Character.isJavaIdentifierStart(name.codePointAt(0)) ? name : before + name;
  }

  /** Without capitals, if there is nothing else: AUTHOR is author, and eMail stays. */
  private static String calm(String word) {
    return word.equals(word.toUpperCase(Locale.ROOT)) ? word.toLowerCase(Locale.ROOT) : word;
  }

  private static String capital(String word) {
    return first(word, Character::toUpperCase);
  }

  private interface CaseOf {
    int apply(int codePoint);
  }

  private static String first(String word, CaseOf change) {
    var first = word.codePointAt(0);
    return Character.toString(change.apply(first)) + word.substring(Character.charCount(first));
  }
}
