package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What {@code pgonce.jar} holds: all that it runs on, with the licences of others. */
class JarContentIT {

  private static final Pattern LIBRARY_IN_NOTICE =
      Pattern.compile("(?m)^  ([a-z0-9]+\\.)*[a-z0-9]+ ");

  private JarFile jar;

  @BeforeEach
  void open() throws IOException {
    jar = new JarFile("target/pgonce.jar");
  }

  @AfterEach
  void close() throws IOException {
    jar.close();
  }

  private List<String> names() {
    return jar.stream().map(JarEntry::getName).toList();
  }

  private String text(String name) throws IOException {
    try (var in = jar.getInputStream(jar.getJarEntry(name))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @Test
  void itNeedsNoOtherFile() throws IOException {
    var manifest = jar.getManifest().getMainAttributes();
    assertThat(manifest.getValue("Main-Class")).isEqualTo("org.pgonce.cli.PgOnceCommand");
    assertThat(manifest.getValue("Class-Path")).isNull();
    assertThat(jar.isMultiRelease()).as("the driver's classes for Java 11 and later").isTrue();
    assertThat(text("META-INF/services/java.sql.Driver")).contains("org.postgresql.Driver");
    assertThat(text("META-INF/services/org.slf4j.spi.SLF4JServiceProvider")).contains("Simple");
    assertThat(names()).contains("org/pgonce/console/internal/web/console.js");
  }

  @Test
  void nothingIsInItTwiceOrSignedOrAModule() {
    assertThat(names())
        .doesNotHaveDuplicates()
        .noneMatch(name -> name.endsWith("module-info.class"))
        .noneMatch(name -> name.matches("META-INF/[^/]*\\.(SF|DSA|RSA|EC)"));
  }

  @Test
  void theNoticeNamesEachLibraryAndItsLicence() throws IOException {
    var notice = text("META-INF/NOTICE");
    var packages =
        LIBRARY_IN_NOTICE
            .matcher(notice)
            .results()
            .map(found -> found.group().strip().replace('.', '/') + "/")
            .filter(name -> !name.equals("package/"))
            .toList();
    assertThat(names())
        .filteredOn(name -> name.endsWith(".class") && !name.startsWith("META-INF/"))
        .filteredOn(name -> !name.startsWith("org/pgonce/"))
        .allMatch(name -> packages.stream().anyMatch(name::startsWith));
    assertThat(packages)
        .hasSize(8)
        .allMatch(inside -> names().stream().anyMatch(name -> name.startsWith(inside)));
    assertThat(notice).contains("Tatu Saloranta"); // of Jackson's notice
    assertThat(text("META-INF/LICENSE"))
        .startsWith("\n                                 Apache License")
        .containsOnlyOnce("APPENDIX: How to apply the Apache License")
        .contains("Copyright (c) 1997, PostgreSQL Global Development Group");
    assertThat(text("META-INF/LICENSE.txt")).contains("Copyright (c) 2004-");
    assertThat(names())
        .anyMatch(name -> name.matches("META-INF/licenses/com.ongres.scram/.*/LICENSE"));
  }
}
