package org.pgonce.jackson;

import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * The modules of Jackson that the standard codecs take where they are on the class path. Others
 * that are there for other mappers of the service might change what is written, or fail.
 */
final class KnownModules {

  static final List<String> JACKSON_3 = List.of("tools.jackson.module.kotlin.KotlinModule");

  // All but that for Kotlin are a part of Jackson 3.
  static final List<String> JACKSON_2 =
      List.of(
          "com.fasterxml.jackson.datatype.jsr310.JavaTimeModule",
          "com.fasterxml.jackson.datatype.jdk8.Jdk8Module",
          "com.fasterxml.jackson.module.paramnames.ParameterNamesModule",
          "com.fasterxml.jackson.module.kotlin.KotlinModule");

  private KnownModules() {}

  /**
   * New instances of those that are there.
   *
   * @param trial sets a module up on a mapper of its own, where one of another release fails
   * @throws IllegalStateException if one is there and cannot be used
   */
  static <M> List<M> there(List<String> names, Class<M> type, Consumer<M> trial) {
    return names.stream().flatMap(name -> made(name, type, trial)).toList();
  }

  private static <M> Stream<M> made(String name, Class<M> type, Consumer<M> trial) {
    try {
      var found = Class.forName(name, true, KnownModules.class.getClassLoader());
      var module = type.cast(found.getConstructor().newInstance());
      trial.accept(module);
      return Stream.of(module);
    } catch (ClassNotFoundException notThere) {
      return Stream.empty();
    } catch (ReflectiveOperationException | LinkageError e) {
      throw new IllegalStateException(
          "the Jackson module %s is on the class path and cannot be used: bring it in the version of Jackson, with what it needs, or take it away"
              .formatted(name),
          e);
    }
  }
}
