package org.pgonce.pgjdbcng;

import com.impossibl.postgres.jdbc.PGDataSource;
import java.io.File;
import java.nio.file.Path;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpSource;

/** Translates an address, which has pgjdbc's property names, to settings of pgjdbc-ng. */
final class PgjdbcNgSettings {

  /** Properties that change which server is reached or how it is verified: never ignored. */
  private static final Set<String> NO_COUNTERPART =
      Set.of(
          "authenticationPluginClassName",
          "gsslib",
          "jaasApplicationName",
          "kerberosServerName",
          "localSocketAddress",
          "options",
          "requireAuth",
          "service",
          "socketFactory",
          "sslfactory",
          "sslhostnameverifier",
          "sslpasswordcallback",
          "sspiServiceClass");

  private PgjdbcNgSettings() {}

  static PGDataSource dataSource(ListenAddress address, ServerProbe server, int timeoutMillis) {
    var settings = new PGDataSource();
    // Numeric: of a name the driver tries the first address only.
    settings.setServerName(server.address().getHostAddress());
    settings.setPortNumber(address.port());
    settings.setDatabaseName(address.database());
    settings.setUser(address.user() == null ? System.getProperty("user.name") : address.user());
    settings.setPassword(address.password() == null ? "" : address.password());
    settings.setApplicationName(WakeUpSource.APPLICATION_NAME);
    // Native transports need a flag on JDK 24 and later, and one connection gains nothing by them.
    settings.setProtocolIoMode("nio");
    // The thread that closes unreferenced connections; this one is referenced.
    settings.setHousekeeper(false);
    settings.setNetworkTimeout(timeoutMillis);
    encrypt(settings, address.properties(), server.tls());
    return settings;
  }

  private static String sslMode(Map<String, String> properties) {
    var mode = properties.get("sslmode");
    if (mode != null) {
      return mode.toLowerCase(Locale.ROOT);
    }
    var ssl = properties.get("ssl");
    // As pgjdbc reads it: ssl alone means the strictest mode, nothing means "prefer".
    return ssl != null && (ssl.isEmpty() || Boolean.parseBoolean(ssl)) ? "verify-full" : "prefer";
  }

  private static void encrypt(
      PGDataSource settings, Map<String, String> properties, boolean offered) {
    var mode = sslMode(properties);
    // Else the driver asks again, and waits a minute if the connection breaks before the answer.
    settings.setSslMode(mode.equals("prefer") && !offered ? "disable" : mode);
    // pgjdbc-ng's own defaults are relative to the working directory.
    settings.setSslCaCertificateFile(file(properties.get("sslrootcert"), "root.crt"));
    settings.setSslCertificateFile(file(properties.get("sslcert"), "postgresql.crt"));
    settings.setSslKeyFile(file(properties.get("sslkey"), "postgresql.pk8"));
    // Without a password the driver asks for one on the console.
    var keyPassword = properties.get("sslpassword");
    settings.setSslKeyPassword(keyPassword == null ? "" : keyPassword);
  }

  private static String file(@Nullable String given, String name) {
    if (given != null) {
      return given;
    }
    var appData = System.getenv("APPDATA");
    return File.separatorChar == '\\' && appData != null
        ? Path.of(appData, "postgresql", name).toString()
        : Path.of(System.getProperty("user.home"), ".postgresql", name).toString();
  }

  static void refuseWhatItCannot(Map<String, String> properties)
      throws SQLFeatureNotSupportedException {
    for (var name : NO_COUNTERPART) {
      if (properties.containsKey(name)) {
        throw unsupported(name, "has no counterpart for it");
      }
    }
    if (sslMode(properties).equals("verify-full")) {
      throw unsupported(
          "sslmode=verify-full", "checks the host's name only after it has logged in");
    }
    var key = properties.getOrDefault("sslkey", ".pk8");
    if (!key.endsWith(".pk8") && !key.endsWith(".der")) {
      throw unsupported("sslkey", "reads a key in PKCS-8 DER (.pk8) only");
    }
    refuse(properties, "gssEncMode", "require");
    refuse(properties, "channelBinding", "require");
    refuse(properties, "sslNegotiation", "direct");
  }

  private static void refuse(Map<String, String> properties, String name, String value)
      throws SQLFeatureNotSupportedException {
    if (value.equalsIgnoreCase(properties.get(name))) {
      throw unsupported(name, "cannot do '" + value + "'");
    }
  }

  private static SQLFeatureNotSupportedException unsupported(String property, String why) {
    return new SQLFeatureNotSupportedException(
        "the address has the property " + property + ", and pgjdbc-ng " + why, "0A000");
  }
}
