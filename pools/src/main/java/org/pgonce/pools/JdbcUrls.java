package org.pgonce.pools;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.ListenAddress;
import org.postgresql.Driver;
import org.postgresql.PGProperty;

/** The addresses in a JDBC URL of either driver. */
final class JdbcUrls {

  private static final Pattern NG_URL =
      Pattern.compile(
          "jdbc:pgsql:(?<slashes>//)?(?:(?<user>[^:@/]*)(?::(?<password>[^@?]*))?@)?(?<place>[^?&]*)(?:[?&](?<query>.*))?");

  private static final Pattern TLS = Pattern.compile("(?i)(^|&)ssl(?!\\.?mode=disable)");
  private static final List<String> LOGIN = List.of("user", "password");

  private JdbcUrls() {}

  /**
   * Returns an address per host.
   *
   * @param beside settings beside the URL, user and password among them; the URL's go first, except
   *     with pgjdbc-ng
   * @throws IllegalArgumentException if it is no URL of these drivers
   */
  static List<ListenAddress> addresses(String url, Properties beside) {
    var ng = NG_URL.matcher(url);
    if (!ng.matches() && !url.startsWith("jdbc:postgresql:")) {
      // Only the scheme: the rest of a URL may hold a password.
      var scheme = url.replaceFirst("^(jdbc:[A-Za-z0-9+.-]{1,32}:)?.*$", "$1");
      throw notUnderstood("(" + scheme + "…) is neither jdbc:postgresql: nor jdbc:pgsql:");
    }
    var parsed = ng.matches() ? parsed(ng, beside) : Driver.parseURL(url, beside);
    if (parsed == null) {
      throw notUnderstood("is not understood by pgjdbc");
    }
    return addresses(parsed);
  }

  /** Returns what a URL of either driver has behind its scheme. */
  static String place(String host, int port, String database) {
    return "//"
        + (host.contains(":") ? "[" + host + "]" : host)
        + ":"
        + port
        + "/"
        + URLEncoder.encode(database, UTF_8);
  }

  private static IllegalArgumentException notUnderstood(String why) {
    return new IllegalArgumentException(
        "the data source's JDBC URL "
            + why
            + "; give the server's address with listenAddress(...)");
  }

  private static @Nullable Properties parsed(Matcher ng, Properties beside) {
    var query = ng.group("query") == null ? "" : ng.group("query");
    if (TLS.matcher(query + "&" + String.join("&", beside.stringPropertyNames())).find()) {
      throw notUnderstood("has TLS settings of pgjdbc-ng");
    }
    var defaults = new Properties();
    defaults.setProperty("sslmode", "disable"); // pgjdbc-ng's default, not "prefer"
    for (var login : LOGIN) {
      if (ng.group(login) != null) {
        defaults.setProperty(login, URLDecoder.decode(ng.group(login), UTF_8));
      }
    }
    defaults.putAll(beside);
    var slashes = ng.group("slashes") == null ? "" : "//";
    var url = "jdbc:postgresql:" + slashes + ng.group("place") + "?" + query;
    var parsed = Driver.parseURL(url, defaults);
    // pgjdbc-ng takes the login beside the URL first: a pool's password may have been rotated.
    for (var login : LOGIN) {
      if (parsed != null && beside.getProperty(login) != null) {
        parsed.setProperty(login, beside.getProperty(login));
      }
    }
    return parsed;
  }

  private static List<ListenAddress> addresses(Properties parsed) {
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
      var host = hosts[i].replaceFirst("^\\[(.*)]$", "$1");
      var port = Integer.parseInt(ports[Math.min(i, ports.length - 1)]);
      addresses.add(new ListenAddress(host, port, database, user, password, rest));
    }
    return addresses;
  }

  private static String take(Map<String, String> from, PGProperty property, String otherwise) {
    @Nullable String value = from.remove(property.getName());
    return value == null || value.isBlank() ? otherwise : value;
  }
}
