package org.pgonce.spi;

import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Where the LISTEN connection goes: the server itself, not a transaction-mode pooler in front of
 * it.
 *
 * @param host host name or address
 * @param port TCP port, 1 to 65535
 * @param database database name
 * @param user login role; null for the driver's default, the operating system's user
 * @param password password; null for none
 * @param properties further connection properties in pgjdbc's names (for example {@code sslmode},
 *     {@code sslrootcert})
 */
public record ListenAddress(
    String host,
    int port,
    String database,
    @Nullable String user,
    @Nullable String password,
    Map<String, String> properties) {

  public ListenAddress {
    Objects.requireNonNull(host, "host");
    Objects.requireNonNull(database, "database");
    Objects.requireNonNull(properties, "properties");
    if (host.isBlank()) {
      throw new IllegalArgumentException("host is blank; give the server's name or address");
    }
    if (port < 1 || port > 65_535) {
      throw new IllegalArgumentException("port " + port + " is not between 1 and 65535");
    }
    if (database.isBlank()) {
      throw new IllegalArgumentException(
          "database is blank; give the name of the database to listen in");
    }
    properties = Map.copyOf(properties);
  }

  /** The address without the password and properties: safe for logs. */
  @Override
  public String toString() {
    return (user == null ? "" : user + "@") + host + ":" + port + "/" + database;
  }
}
