package org.pgonce.internal.listen;

import java.util.Map;
import org.pgonce.spi.ListenAddress;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.TestDatabase;

/** Where tests listen. */
final class Addresses {

  private Addresses() {}

  static ListenAddress of(TestDatabase database) {
    return of(database.login());
  }

  static ListenAddress of(Login login) {
    return of(login, Map.of());
  }

  static ListenAddress of(Login login, Map<String, String> properties) {
    return new ListenAddress(
        login.host(), login.port(), login.database(), login.user(), login.password(), properties);
  }

  static ListenAddress through(FaultProxy proxy, TestDatabase database) {
    return of(database.login().through(proxy));
  }
}
