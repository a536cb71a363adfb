package org.pgonce.records.internal.source;

import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.pgonce.records.TableName;

/** What the types of one source file are called: none as another, or as one that it uses. */
final class TypeNames {

  private final Set<String> taken = new HashSet<>();
  private final Set<String> used;

  /**
   * @param used simple names of the types that the source may import
   */
  TypeNames(Set<String> used) {
    this.used = used.stream().map(TypeNames::folded).collect(Collectors.toSet());
  }

  /** For a table, or a type by its name as SQL writes it. */
  String give(String sqlName) {
    var wanted = Words.of(TableName.parse(sqlName).table()).pascalCase("Row");
    if (used.contains(folded(wanted)) || isInJavaLang(wanted)) {
      wanted += "Row";
    }
    var name = wanted;
    for (var n = 2; !take(name); n++) {
      name = wanted + n;
    }
    return name;
  }

  /** Without regard to case, as file systems that hold class files may be. */
  private boolean take(String name) {
    return taken.add(folded(name));
  }

  private static String folded(String name) {
    return name.toLowerCase(Locale.ROOT);
  }

  private static boolean isInJavaLang(String name) {
    try {
      Class.forName("java.lang." + name, false, null);
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }
}
