package org.pgonce.internal.wakeup;

import com.impossibl.postgres.jdbc.PGDataSource;
import java.sql.SQLException;
import java.util.Locale;
import javax.sql.DataSource;
import org.pgonce.internal.wakeup.AddressLookup.Unknown;
import org.postgresql.ds.common.BaseDataSource;

/**
 * Tells from a DataSource where its connections go, so that the LISTEN connection can go there too,
 * outside the pool. Reads settings only: never opens a connection.
 *
 * <p>Understands HikariDataSource (by URL, or by the DataSource it wraps), the DataSources of
 * pgjdbc and pgjdbc-ng, and whatever unwraps to one of them. A URL of several hosts gives several
 * addresses in its order.
 */
public final class ListenAddresses {

  private static final String GIVE_IT = "give the server's address with listenAddress(...)";

  private ListenAddresses() {}

  /** Looks the address up anew: a pool's password may have been rotated since the last time. */
  public static AddressLookup of(DataSource dataSource) {
    try {
      // HikariCP is optional: nothing of it may load unless it is there.
      if (HikariPresence.PRESENT && HikariAddresses.understands(dataSource)) {
        return HikariAddresses.of(dataSource);
      }
      if (dataSource instanceof BaseDataSource pgjdbc) {
        return PgjdbcAddresses.of(pgjdbc);
      }
      if (dataSource instanceof PGDataSource ng) {
        return PgjdbcNgAddresses.of(ng);
      }
      return unwrapped(dataSource);
    } catch (SQLException | RuntimeException e) {
      return unknown(dataSource, "it cannot be read: " + e.getMessage());
    }
  }

  /** Reads a JDBC URL of either driver, with the user and password that stand beside it. */
  public static AddressLookup of(String jdbcUrl, Credentials login) {
    if (jdbcUrl.startsWith("jdbc:postgresql:")) {
      return PgjdbcAddresses.of(jdbcUrl, login);
    }
    if (jdbcUrl.startsWith("jdbc:pgsql:")) {
      return PgjdbcNgAddresses.of(jdbcUrl, login);
    }
    // Only the scheme: the rest of a URL may hold a password.
    var scheme = jdbcUrl.replaceFirst("^(jdbc:[A-Za-z0-9+.-]{1,32}:)?.*$", "$1");
    return new Unknown(
        String.format(
            Locale.ROOT,
            "the JDBC URL (%s…) is neither jdbc:postgresql: nor jdbc:pgsql:; %s",
            scheme,
            GIVE_IT));
  }

  private static AddressLookup unwrapped(DataSource wrapper) throws SQLException {
    if (HikariPresence.PRESENT) {
      var hikari = HikariAddresses.unwrapped(wrapper);
      if (hikari != null) {
        return HikariAddresses.of(hikari);
      }
    }
    if (wrapper.isWrapperFor(BaseDataSource.class)) {
      return PgjdbcAddresses.of(wrapper.unwrap(BaseDataSource.class));
    }
    if (wrapper.isWrapperFor(PGDataSource.class)) {
      return PgjdbcNgAddresses.of(wrapper.unwrap(PGDataSource.class));
    }
    return unknown(wrapper, "its kind is not known");
  }

  static Unknown unknown(DataSource dataSource, String why) {
    return new Unknown(
        "the DataSource "
            + dataSource.getClass().getName()
            + " does not say where it connects ("
            + why
            + "); "
            + GIVE_IT);
  }
}
