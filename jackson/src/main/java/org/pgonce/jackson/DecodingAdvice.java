package org.pgonce.jackson;

import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.stream.Collectors;
import org.pgonce.spi.PayloadCodec;

/** What both codecs say of JSON that they cannot read or write, and what to do; never values. */
final class DecodingAdvice {

  private static final int LONGEST_PATH = 400;
  private static final int MOST_FIELDS = 10;
  private static final int LONGEST_FIELD = 48;

  private DecodingAdvice() {}

  /** Of a type that Jackson has no way to make. */
  static String ofType(Class<?> type) {
    if (KotlinClasses.isKotlin(type)) {
      return "it is a class of Kotlin, whose constructor Jackson finds with the module jackson-module-kotlin: put it on the class path, in the version of Jackson";
    }
    if (type.isInterface() || Modifier.isAbstract(type.getModifiers())) {
      return "it is %s: say which class to make of it (@JsonTypeInfo, @JsonDeserialize(as = …)), or take a record"
          .formatted(type.isInterface() ? "an interface" : "an abstract class");
    }
    return "it has no constructor that Jackson can call: take a record, or mark a constructor or a factory method with @JsonCreator";
  }

  /**
   * Of JSON that is longer or deeper than Jackson may read.
   *
   * @param message Jackson's: it has lengths and bounds, and quotes nothing
   */
  static String ofBound(String message, Class<? extends PayloadCodec> codec) {
    return "%1$s. Store less in it; or raise the bound: give new %2$s(%2$s.strict(bounds -> ...).build()) to PgOnceBuilder.codec, where bounds are Jackson's StreamReadConstraints"
        .formatted(message, codec.getSimpleName());
  }

  /** The fields that are there in place of one that is missing: not all of a large map. */
  static String fields(Collection<String> names) {
    return names.isEmpty()
        ? "none"
        : names.stream()
            .limit(MOST_FIELDS)
            .map(name -> shortened(name, LONGEST_FIELD))
            .collect(Collectors.joining(", ", "", names.size() > MOST_FIELDS ? ", ..." : ""));
  }

  /** A path of five hundred steps would leave no room for what is wrong there. */
  static String at(String path) {
    return " at " + shortened(path, LONGEST_PATH);
  }

  private static String shortened(String text, int longest) {
    return text.length() <= longest ? text : text.substring(0, longest) + "...";
  }
}
