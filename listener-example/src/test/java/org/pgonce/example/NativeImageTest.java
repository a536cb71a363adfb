package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The metadata for native images names what the modules load, make and call by reflection. */
class NativeImageTest {

  private static final Path ROOT = Path.of("..");
  private static final JsonMapper MAPPER = new JsonMapper();

  @ParameterizedTest
  @ValueSource(
      strings = {
        "core",
        "jackson",
        "operations",
        "micrometer",
        "sweeps",
        "records",
        "triggers",
        "guards",
        "pgjdbc-ng"
      })
  void everyResourceIsInTheImage(String module) throws Exception {
    var included =
        Files.exists(metadata(module, "resource-config.json"))
            ? texts(read(module, "resource-config.json").at("/resources/includes"), "pattern")
            : List.<String>of();
    var classes = ROOT.resolve(module).resolve("target/classes");
    try (var files = Files.walk(classes.resolve("org"))) {
      var resources =
          files
              .filter(file -> Files.isRegularFile(file) && !file.toString().endsWith(".class"))
              .map(file -> classes.relativize(file).toString().replace('\\', '/'))
              .toList();
      assertThat(resources)
          .allMatch(resource -> included.stream().anyMatch(resource::matches), "is matched");
      assertThat(included)
          .allMatch(pattern -> resources.stream().anyMatch(one -> one.matches(pattern)), "is used");
    }
  }

  @Test
  void everyGuardedTypeHasItsProxy() throws Exception {
    var made =
        Stream.concat(
            Stream.of(Connection.class),
            constant("org.pgonce.internal.handle.GuardedObject", "GUARDED")
                .map(type -> (Class<?>) type));
    var proxies =
        elements(read("core", "proxy-config.json")).map(one -> one.get(0).asString()).toList();
    assertThat(proxies).containsExactlyInAnyOrderElementsOf(made.map(Class::getName).toList());
  }

  @Test
  void whatIsNamedIsThere() throws Exception {
    for (var module : List.of("pools", "jackson")) {
      for (var one : elements(read(module, "reflect-config.json")).toList()) {
        var name = one.get("name").asString();
        // Of other libraries those that this class path lacks are for others.
        if (name.startsWith("org.pgonce.") || isThere(name)) {
          var type = Class.forName(name, false, getClass().getClassLoader());
          for (var field : texts(one.path("fields"), "name")) {
            assertThat(type.getField(field)).isNotNull();
          }
        }
      }
    }
  }

  @Test
  void everyModuleOfJacksonCanBeMade() throws Exception {
    var known = "org.pgonce.jackson.KnownModules";
    var made = Stream.concat(constant(known, "JACKSON_3"), constant(known, "JACKSON_2"));
    assertThat(texts(read("jackson", "reflect-config.json"), "name"))
        .containsAll(made.map(String::valueOf).toList());
  }

  private static boolean isThere(String name) {
    try {
      Class.forName(name, false, NativeImageTest.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  private static Stream<?> constant(String type, String name) throws Exception {
    var field = Class.forName(type).getDeclaredField(name);
    field.setAccessible(true);
    return ((List<?>) field.get(null)).stream();
  }

  private static JsonNode read(String module, String file) throws Exception {
    return MAPPER.readTree(Files.readString(metadata(module, file)));
  }

  /** Where the jar has it. */
  private static Path metadata(String module, String file) {
    return ROOT.resolve(module)
        .resolve("target/classes/META-INF/native-image/org.pgonce/pgonce-" + module)
        .resolve(file);
  }

  private static List<String> texts(JsonNode array, String name) {
    return elements(array).map(one -> one.get(name).asString()).toList();
  }

  private static Stream<JsonNode> elements(JsonNode array) {
    return StreamSupport.stream(array.spliterator(), false);
  }
}
