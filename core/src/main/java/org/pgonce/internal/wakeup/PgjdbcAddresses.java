package org.pgonce.internal.wakeup;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.wakeup.AddressLookup.Found;
import org.pgonce.internal.wakeup.AddressLookup.Unknown;
import org.pgonce.spi.ListenAddress;
import org.postgresql.Driver;
import org.postgresql.PGProperty;
import org.postgresql.ds.common.BaseDataSource;

/** Where pgjdbc connects, in the driver's own reading of its URL. */
final class PgjdbcAddresses {

  private PgjdbcAddresses() {}

  static AddressLookup of(BaseDataSource dataSource) {
    return of(dataSource.getURL(), new Credentials(dataSource.getUser(), dataSource.getPassword()));
  }

  static AddressLookup of(String url, Credentials login) {
    var beside = new Properties();
    if (login.user() != null) {
      PGProperty.USER.set(beside, login.user());
    }
    if (login.password() != null) {
      PGProperty.PASSWORD.set(beside, login.password());
    }
    var parsed = Driver.parseURL(url, beside);
    if (parsed == null) {
      return new Unknown(
          "pgjdbc does not understand the JDBC URL; give the server's address with"
              + " listenAddress(...)");
    }
    return new Found(addresses(parsed));
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
      var port = Integer.parseInt(ports[Math.min(i, ports.length - 1)]);
      addresses.add(new ListenAddress(bare(hosts[i]), port, database, user, password, rest));
    }
    return addresses;
  }

  private static String bare(String host) {
    return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
  }

  private static String take(Map<String, String> from, PGProperty property, String otherwise) {
    @Nullable String value = from.remove(property.getName());
    return value == null || value.isBlank() ? otherwise : value;
  }
}
