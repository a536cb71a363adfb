package org.pgonce.internal.wakeup;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.pgonce.internal.wakeup.AddressLookup.Found;
import org.pgonce.spi.ListenAddress;

/** Joins what a pool says beside its URL with what the URL says. */
final class JdbcProperties {

  private JdbcProperties() {}

  /** Adds driver properties that the URL does not already say. */
  static AddressLookup under(AddressLookup lookup, Properties properties) {
    if (properties.isEmpty() || !(lookup instanceof Found found)) {
      return lookup;
    }
    return new Found(found.addresses().stream().map(each -> under(each, properties)).toList());
  }

  static ListenAddress as(ListenAddress address, Credentials login) {
    return new ListenAddress(
        address.host(),
        address.port(),
        address.database(),
        login.user(),
        login.password() == null ? address.password() : login.password(),
        address.properties());
  }

  private static ListenAddress under(ListenAddress address, Properties properties) {
    Map<String, String> all = new HashMap<>();
    properties.stringPropertyNames().forEach(name -> all.put(name, properties.getProperty(name)));
    var user = all.remove("user");
    var password = all.remove("password");
    all.putAll(address.properties());
    return new ListenAddress(
        address.host(),
        address.port(),
        address.database(),
        address.user() == null ? user : address.user(),
        address.password() == null ? password : address.password(),
        all);
  }
}
