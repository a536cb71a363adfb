package org.pgonce.internal.wakeup;

import com.impossibl.postgres.jdbc.PGDataSource;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.wakeup.AddressLookup.Found;
import org.pgonce.internal.wakeup.AddressLookup.Unknown;
import org.pgonce.spi.ListenAddress;

/** Where pgjdbc-ng connects, said in pgjdbc's words. */
final class PgjdbcNgAddresses {

  private static final Pattern URL =
      Pattern.compile(
          "jdbc:pgsql:(?://(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<hosts>[^/?]*)/)?"
              + "(?<database>[^?&/]+)(?:[?&](?<parameters>.*))?");
  private static final Pattern HOST =
      Pattern.compile("(?<host>\\[[0-9a-fA-F:.]+]|[^:,\\[\\]]+)(?::(?<port>\\d{1,5}))?");

  /** Both names that pgjdbc-ng knows each of these by. */
  private static final Map<String, String> PGJDBC_NAMES =
      Map.of(
          "ssl.mode", "sslmode",
          "sslMode", "sslmode",
          "ssl.certificate.file", "sslcert",
          "sslCertificateFile", "sslcert",
          "ssl.ca.certificate.file", "sslrootcert",
          "sslRootCertificateFile", "sslrootcert",
          "ssl.key.file", "sslkey",
          "sslKeyFile", "sslkey",
          "ssl.key.password", "sslpassword",
          "sslPassword", "sslpassword");

  private PgjdbcNgAddresses() {}

  static AddressLookup of(PGDataSource dataSource) {
    var login = new Credentials(dataSource.getUser(), blankAsNull(dataSource.getPassword()));
    var url = dataSource.getDatabaseUrl();
    if (url != null) {
      return of(url, login);
    }
    Map<String, String> properties = new HashMap<>();
    properties.put("sslmode", dataSource.getSslMode());
    put(properties, "sslcert", dataSource.getSslCertificateFile(), "postgresql.crt");
    put(properties, "sslrootcert", dataSource.getSslCaCertificateFile(), "root.crt");
    put(properties, "sslkey", dataSource.getSslKeyFile(), "postgresql.pk8");
    put(properties, "sslpassword", dataSource.getSslKeyPassword(), "");
    return AddressLookup.found(
        new ListenAddress(
            dataSource.getServerName(),
            dataSource.getPortNumber(),
            dataSource.getDatabaseName(),
            login.user(),
            login.password(),
            properties));
  }

  static AddressLookup of(String url, Credentials login) {
    var parts = URL.matcher(url);
    if (!parts.matches()) {
      return new Unknown(
          "the JDBC URL is not of the form jdbc:pgsql://host:port/database; give the server's"
              + " address with listenAddress(...)");
    }
    var parameters = parameters(parts.group("parameters"));
    var user = firstOf(login.user(), decoded(parts.group("user")), parameters.remove("user"));
    var password =
        firstOf(login.password(), decoded(parts.group("password")), parameters.remove("password"));
    var hosts = parts.group("hosts");
    List<ListenAddress> addresses = new ArrayList<>();
    var each = HOST.matcher(hosts == null || hosts.isEmpty() ? "localhost" : hosts);
    while (each.find()) {
      var port = each.group("port") == null ? 5432 : Integer.parseInt(each.group("port"));
      var host = each.group("host").replace("[", "").replace("]", "");
      addresses.add(
          new ListenAddress(host, port, parts.group("database"), user, password, parameters));
    }
    return new Found(addresses);
  }

  private static Map<String, String> parameters(@Nullable String query) {
    Map<String, String> parameters = new HashMap<>();
    parameters.put("sslmode", "disable"); // the driver's default, not pgjdbc's "prefer"
    for (var each : query == null ? new String[0] : query.split("&", -1)) {
      var pair = each.split("=", 2);
      var name = decode(pair[0]);
      parameters.put(
          PGJDBC_NAMES.getOrDefault(name, name), pair.length == 2 ? decode(pair[1]) : "");
    }
    return parameters;
  }

  private static void put(
      Map<String, String> properties, String name, @Nullable String value, String byDefault) {
    if (value != null && !value.equals(byDefault)) {
      properties.put(name, value);
    }
  }

  private static @Nullable String firstOf(
      @Nullable String first, @Nullable String second, @Nullable String third) {
    return first != null ? first : second != null ? second : third;
  }

  private static @Nullable String blankAsNull(@Nullable String value) {
    return value == null || value.isEmpty() ? null : value;
  }

  private static @Nullable String decoded(@Nullable String value) {
    return value == null ? null : decode(value);
  }

  private static String decode(String value) {
    return URLDecoder.decode(value, StandardCharsets.UTF_8);
  }
}
