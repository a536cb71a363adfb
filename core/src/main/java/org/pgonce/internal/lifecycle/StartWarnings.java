package org.pgonce.internal.lifecycle;

import java.lang.module.ModuleDescriptor.Version;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.listen.ListenAddresses;
import org.postgresql.Driver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What keeps no listener from starting, and is said all the same. */
final class StartWarnings {

  private static final Logger LOG = LoggerFactory.getLogger(StartWarnings.class);

  // Beside the handlers': the poll, and the listener's other statements.
  private static final int OWN_CONNECTIONS = 2;

  // The oldest that pgonce is tried with.
  private static final Version OLDEST_DRIVER = Version.parse("42.7.8");
  private static final Pattern VERSION = Pattern.compile("\\d+\\.\\d+\\.\\d+");

  private StartWarnings() {}

  /** To be called when the pool has given its first connection: some know their size by then. */
  static void log(DataSource dataSource, List<Registration<?>> registrations) {
    var tooSmall = ofPool(ListenAddresses.poolSize(dataSource), registrations);
    if (tooSmall != null) {
      LOG.warn("pgonce: {}", tooSmall);
    }
    var tooOld = ofDriver(driver());
    if (tooOld != null) {
      LOG.warn("pgonce: {}", tooOld);
    }
  }

  /** With all parts of its version, of which JDBC tells two. */
  @SuppressWarnings("deprecation")
  static String driver() {
    return Driver.getVersion();
  }

  static @Nullable String ofPool(@Nullable Integer size, List<Registration<?>> registrations) {
    // The others hold none while they handle, unless their handler uses its transaction.
    var holding = registrations.stream().filter(one -> one.mode() == Mode.EXACTLY_ONCE).toList();
    var workers = holding.stream().mapToInt(one -> one.options().concurrency()).sum();
    var needed = workers + OWN_CONNECTIONS;
    if (size == null || size >= needed) {
      return null;
    }
    return "the pool has at most %d connections, and %d are needed: %s for handlers (%s), each of which holds one, and %d more. With fewer, handlers wait for connections, and those that take a second one can stall each other. Give the pool %d or more, or lower the concurrency (ListenOptions.withConcurrency)"
        .formatted(
            size,
            needed,
            workers,
            holding.stream()
                .map(one -> one.label() + " " + one.options().concurrency())
                .collect(Collectors.joining(", ")),
            OWN_CONNECTIONS,
            needed);
  }

  static @Nullable String ofDriver(String name) {
    var version = VERSION.matcher(name);
    if (!version.find() || Version.parse(version.group()).compareTo(OLDEST_DRIVER) >= 0) {
      return null;
    }
    return "pgjdbc is of version %s, older than any that pgonce is tried with: use %s or later"
        .formatted(version.group(), OLDEST_DRIVER);
  }
}
