package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Published modules, and {@code pgonce-bom}, which names them without the help of a parent. */
class BomTest {

  private static final Path ROOT = Path.of("..");
  private static final Pattern MODULE = Pattern.compile("<module>(.+?)</module>");
  private static final Pattern VERSION = Pattern.compile("<version>(.+?)</version>");
  private static final Pattern WHOSE =
      Pattern.compile("(?s)(<licenses>.*</licenses>\\s*<developers>.*</developers>)");
  private static final Pattern OURS =
      Pattern.compile("<groupId>org\\.pgonce</groupId>\\s*<artifactId>(.+?)</artifactId>");
  private static final Pattern OURS_WITH_VERSION =
      Pattern.compile(
          "<groupId>org\\.pgonce</groupId>\\s*<artifactId>[^<]+</artifactId>\\s*<version>(.+?)</version>");
  private static final Pattern PLUGIN =
      Pattern.compile("(<artifactId>maven-[a-z]+-plugin</artifactId>\\s*<version>.+?</version>)");
  private static final Pattern ARTIFACT =
      Pattern.compile("</parent>.*?<artifactId>(.+?)</artifactId>", Pattern.DOTALL);

  @Test
  void thePublishedModulesAreInTheBom() throws Exception {
    var published = new ArrayList<String>();
    for (var module : all(MODULE, pom("."))) {
      var text = pom(module);
      if (!module.equals("bom") && !text.contains("<maven.deploy.skip>true</maven.deploy.skip>")) {
        published.addAll(all(ARTIFACT, text).subList(0, 1));
      }
    }
    var managed = all(OURS, pom("bom"));
    assertThat(managed.subList(1, managed.size())).containsExactlyInAnyOrderElementsOf(published);
  }

  /** Whoever builds the sources, as the README says, has it in the local repository. */
  @Test
  void everyBuildInstallsIt() throws Exception {
    assertThat(all(MODULE, pom(".").split("<profiles>", 2)[0])).contains("bom");
  }

  @Test
  void thePagesNameTheProjectsVersion() throws Exception {
    var version = all(VERSION, pom(".")).get(0);
    try (var pages = Files.list(ROOT.resolve("docs"))) {
      var named = new ArrayList<String>();
      for (var page : pages.filter(file -> file.toString().endsWith(".md")).toList()) {
        named.addAll(all(OURS_WITH_VERSION, Files.readString(page)));
      }
      assertThat(named).hasSizeGreaterThan(2).containsOnly(version);
    }
  }

  @Test
  void itsVersionIsTheProjects() throws Exception {
    assertThat(all(VERSION, pom("bom")).get(0)).isEqualTo(all(VERSION, pom(".")).get(0));
  }

  @Test
  void itsLicenceAndDevelopersAreTheProjects() throws Exception {
    assertThat(all(WHOSE, pom("bom"))).hasSize(1).isEqualTo(all(WHOSE, pom(".")));
  }

  /** Without a version Maven takes its own, of 2013. */
  @Test
  void itsPluginsAreTheProjects() throws Exception {
    assertThat(all(PLUGIN, pom("bom"))).hasSize(3).isSubsetOf(all(PLUGIN, pom(".")));
  }

  private static String pom(String module) throws Exception {
    return Files.readString(ROOT.resolve(module).resolve("pom.xml"));
  }

  private static List<String> all(Pattern pattern, String text) {
    return pattern.matcher(text).results().map(found -> found.group(1)).toList();
  }
}
