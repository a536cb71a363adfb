package org.pgonce.internal.listen;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.ListenAddress;
import org.postgresql.Driver;
import org.postgresql.PGProperty;

/** Where a JDBC URL of either driver leads, in pgjdbc's words. */
final class JdbcUrls {

  private static final Pattern NG_URL =
      Pattern.compile(
          "jdbc:pgsql:(?://(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<hosts>[^/?]*)/)?"
              + "(?<database>[^?&/]+)(?:[?&](?<parameters>.*))?");
  private static final Pattern NG_HOST =
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

  private JdbcUrls() {}

  /**
   * Returns an address per host.
   *
   * @param beside what is said beside the URL, user and password among it; the URL goes before it
   * @throws ListenFailure of kind POLLING if it is no URL of these drivers
   */
  static List<ListenAddress> addresses(String url, Properties beside) throws ListenFailure {
    if (url.startsWith("jdbc:postgresql:")) {
      return pgjdbc(url, beside);
    }
    if (url.startsWith("jdbc:pgsql:")) {
      return pgjdbcNg(url, beside);
    }
    // Only the scheme: the rest of a URL may hold a password.
    var scheme = url.replaceFirst("^(jdbc:[A-Za-z0-9+.-]{1,32}:)?.*$", "$1");
    throw notUnderstood("(" + scheme + "…) is neither jdbc:postgresql: nor jdbc:pgsql:");
  }

  private static ListenFailure notUnderstood(String why) {
    return ListenFailure.polling(
        "the data source's JDBC URL "
            + why
            + "; give the server's address with listenAddress(...)");
  }

  private static List<ListenAddress> pgjdbc(String url, Properties beside) throws ListenFailure {
    var parsed = Driver.parseURL(url, beside);
    if (parsed == null) {
      throw notUnderstood("is not understood by pgjdbc");
    }
    Map<String, String> rest = new HashMap<>();
    parsed.stringPropertyNames().forEach(name -> rest.put(name, parsed.getProperty(name)));
    var hosts = take(rest, PGProperty.PG_HOST, "localhost").split(",", -1);
    var ports = take(rest, PGProperty.PG_PORT, "5432").split(",", -1);
    var user = rest.remove(PGProperty.USER.getName());
    var password = rest.remove(PGProperty.PASSWORD.getName());
    // As the server reads it: a database that is not named has the name of the user.
    var database =
        take(rest, PGProperty.PG_DBNAME, user == null ? System.getProperty("user.name") : user);
    List<ListenAddress> addresses = new ArrayList<>();
    for (int i = 0; i < hosts.length; i++) {
      var port = Integer.parseInt(ports[Math.min(i, ports.length - 1)]);
      addresses.add(new ListenAddress(bare(hosts[i]), port, database, user, password, rest));
    }
    return addresses;
  }

  private static String take(Map<String, String> from, PGProperty property, String otherwise) {
    @Nullable String value = from.remove(property.getName());
    return value == null || value.isBlank() ? otherwise : value;
  }

  private static String bare(String host) {
    return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
  }

  private static List<ListenAddress> pgjdbcNg(String url, Properties beside) throws ListenFailure {
    var parts = NG_URL.matcher(url);
    if (!parts.matches()) {
      throw notUnderstood("is not of the form jdbc:pgsql://host:port/database");
    }
    Map<String, String> properties = new HashMap<>();
    properties.put("sslmode", "disable"); // the driver's default, not pgjdbc's "prefer"
    beside.stringPropertyNames().forEach(name -> put(properties, name, beside.getProperty(name)));
    var parameters = parts.group("parameters");
    for (var each : parameters == null ? new String[0] : parameters.split("&", -1)) {
      var pair = each.split("=", 2);
      put(properties, decoded(pair[0]), pair.length == 2 ? decoded(pair[1]) : "");
    }
    if (parts.group("user") != null) {
      properties.put("user", decoded(parts.group("user")));
    }
    if (parts.group("password") != null) {
      properties.put("password", decoded(parts.group("password")));
    }
    // Of user and password, what is said beside the URL goes first with this driver.
    var user = beside.getProperty("user", properties.remove("user"));
    var password = beside.getProperty("password", properties.remove("password"));
    var hosts = parts.group("hosts");
    List<ListenAddress> addresses = new ArrayList<>();
    var each = NG_HOST.matcher(hosts == null || hosts.isEmpty() ? "localhost" : hosts);
    while (each.find()) {
      var port = each.group("port") == null ? 5432 : Integer.parseInt(each.group("port"));
      var host = each.group("host").replace("[", "").replace("]", "");
      addresses.add(
          new ListenAddress(host, port, parts.group("database"), user, password, properties));
    }
    return addresses;
  }

  private static void put(Map<String, String> properties, String name, String value) {
    properties.put(PGJDBC_NAMES.getOrDefault(name, name), value);
  }

  private static String decoded(String value) {
    return URLDecoder.decode(value, StandardCharsets.UTF_8);
  }
}
