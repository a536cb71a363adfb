package org.pgonce.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.sql.SQLException;
import java.util.Set;

/**
 * The data directory of a standby, copied from a primary that runs: what {@code pg_basebackup}
 * does, which the embedded PostgreSQL lacks.
 */
final class StandbyData {

  /** Of the primary's postmaster, and the lock of whoever started it. */
  private static final Set<String> OF_THE_PRIMARY =
      Set.of("postmaster.pid", "postmaster.opts", "epg-lock");

  /** The standby streams what is in there. */
  private static final String WAL = "pg_wal";

  private StandbyData() {}

  static void copy(EmbeddedCluster primary, Path to) throws IOException, SQLException {
    try (var connection = primary.login().dataSource().getConnection();
        var statement = connection.createStatement()) {
      var isOld = connection.getMetaData().getDatabaseMajorVersion() < 15;
      statement.execute(
          isOld
              ? "SELECT pg_start_backup('standby', fast => true, exclusive => false)"
              : "SELECT pg_backup_start('standby', fast => true)");
      copyDirectory(primary.data(), to);
      try (var row =
          statement.executeQuery(
              "SELECT labelfile FROM "
                  + (isOld ? "pg_stop_backup(false, false)" : "pg_backup_stop(false)"))) {
        row.next();
        Files.writeString(to.resolve("backup_label"), row.getString(1));
      }
    }
    Files.createFile(to.resolve("standby.signal"));
    Files.writeString(
        to.resolve("postgresql.auto.conf"),
        "primary_conninfo = 'host=%s port=%d user=%s'%n"
            .formatted(EmbeddedCluster.HOST, primary.port(), EmbeddedCluster.SUPERUSER),
        StandardOpenOption.APPEND);
  }

  private static void copyDirectory(Path from, Path to) throws IOException {
    Files.copy(from, to, StandardCopyOption.COPY_ATTRIBUTES);
    if (from.endsWith(WAL)) {
      return;
    }
    try (var entries = Files.list(from)) {
      entries.forEach(entry -> copyEntry(entry, to.resolve(entry.getFileName())));
    }
  }

  private static void copyEntry(Path from, Path to) {
    try {
      if (Files.isDirectory(from)) {
        copyDirectory(from, to);
      } else if (!OF_THE_PRIMARY.contains(String.valueOf(from.getFileName()))) {
        Files.copy(from, to, StandardCopyOption.COPY_ATTRIBUTES);
      }
    } catch (NoSuchFileException e) {
      // The primary has removed it, which the standby learns from the log.
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot copy %s to %s".formatted(from, to), e);
    }
  }
}
