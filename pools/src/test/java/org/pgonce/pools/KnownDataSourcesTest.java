package org.pgonce.pools;

import static org.assertj.core.api.Assertions.assertThat;

import com.mchange.v2.c3p0.ComboPooledDataSource;
import com.zaxxer.hikari.HikariDataSource;
import io.agroal.api.AgroalDataSource;
import io.agroal.api.configuration.supplier.AgroalDataSourceConfigurationSupplier;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.apache.commons.dbcp2.BasicDataSource;
import org.junit.jupiter.api.Test;
import org.postgresql.ds.PGSimpleDataSource;
import org.slf4j.Logger;

/** How many connections a pool has, without asking it for one. */
class KnownDataSourcesTest {

  private static final String URL = "jdbc:postgresql://db.example:6543/shop";

  @Test
  void h57_theSizeOfEachKnownPoolIsRead() throws Exception {
    try (var hikari = new HikariDataSource();
        var dbcp = new BasicDataSource();
        var c3p0 = new ComboPooledDataSource();
        var agroal =
            AgroalDataSource.from(
                new AgroalDataSourceConfigurationSupplier()
                    .connectionPoolConfiguration(
                        pool ->
                            pool.maxSize(7)
                                .connectionFactoryConfiguration(one -> one.jdbcUrl(URL))))) {
      hikari.setMaximumPoolSize(7);
      dbcp.setMaxTotal(7);
      c3p0.setMaxPoolSize(7);
      var tomcat = new org.apache.tomcat.jdbc.pool.DataSource();
      tomcat.setMaxActive(7);
      assertThat(KnownDataSources.size(hikari)).isEqualTo(7);
      assertThat(KnownDataSources.size(dbcp)).isEqualTo(7);
      assertThat(KnownDataSources.size(c3p0)).isEqualTo(7);
      assertThat(KnownDataSources.size(agroal)).isEqualTo(7);
      assertThat(KnownDataSources.size(tomcat)).isEqualTo(7);
      assertThat(new PoolReader().size(new WatchedDataSource(hikari))).isEqualTo(7);
      dbcp.setMaxTotal(-1); // without a bound
      assertThat(KnownDataSources.size(dbcp)).isNull();
    }
    assertThat(KnownDataSources.size(new PGSimpleDataSource())).isNull();
  }

  /** Of a library that is not there, or not in this version. */
  @Test
  void h57_aDataSourceThatCannotBeLinkedHasNoKnownSize() {
    var broken =
        new PGSimpleDataSource() {
          @Override
          public boolean isWrapperFor(Class<?> type) {
            throw new NoClassDefFoundError("as if");
          }
        };
    assertThat(KnownDataSources.size(broken)).isNull();
  }

  /** As in a container whose shared class loader has pgonce, and the application's the pool. */
  @Test
  void h57_aWatchedPoolOfAnotherClassLoaderSaysItsSize() throws Exception {
    var jars = new ArrayList<URL>();
    for (var type : List.of(HikariDataSource.class, Logger.class)) {
      jars.add(type.getProtectionDomain().getCodeSource().getLocation());
    }
    try (var loader =
        new URLClassLoader(jars.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
      var type = loader.loadClass(HikariDataSource.class.getName());
      var pool = (DataSource) type.getConstructor().newInstance();
      type.getMethod("setMaximumPoolSize", int.class).invoke(pool, 7);
      assertThat(new PoolReader().size(new WatchedDataSource(pool))).isEqualTo(7);
    }
  }
}
