package org.pgonce.records.internal.fit;

import java.util.Set;

/** The trees that Jackson, 2 or 3, reads JSON as; by name, as neither must be there. */
final class JsonTree {

  private static final Set<String> ROOTS =
      Set.of("tools.jackson.databind.JsonNode", "com.fasterxml.jackson.databind.JsonNode");

  // A tree's types that an object is one of.
  private static final Set<String> OF_OBJECTS =
      Set.of("JsonNode", "BaseJsonNode", "ContainerNode", "ObjectNode");

  private JsonTree() {}

  /** Whether it is the type of any tree. */
  static boolean isRoot(Class<?> type) {
    return ROOTS.contains(type.getName());
  }

  static boolean is(Class<?> type) {
    for (Class<?> one = type; one != null; one = one.getSuperclass()) {
      if (isRoot(one)) {
        return true;
      }
    }
    return false;
  }

  /** Of a tree's type: whether an object may be one. */
  static boolean takesObject(Class<?> type) {
    return OF_OBJECTS.contains(type.getSimpleName());
  }
}
