package org.pgonce.spring.internal;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.net.URL;
import java.net.URLClassLoader;
import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.postgresql.ds.PGSimpleDataSource;
import org.slf4j.LoggerFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;

/** Which pools become a proxy of their class, and what becomes of the others. */
@Tag("second")
class WatchedPoolsTest {

  @Test
  void poolBecomesAProxyOfItsClass() {
    var watched = bean(new PGSimpleDataSource());
    assertThat(AopUtils.isCglibProxy(watched)).isTrue();
    assertThat(watched).isInstanceOf(PGSimpleDataSource.class);
  }

  @Test
  void poolThatCannotBeAProxyStaysAsItIsAndTheLogSaysSo() throws Exception {
    try (var ofServer = new URLClassLoader(driver(), ClassLoader.getPlatformClassLoader())) {
      var doesNotSeeSpring =
          (DataSource)
              ofServer.loadClass(PGSimpleDataSource.class.getName()).getConstructor().newInstance();
      assertStays(doesNotSeeSpring);
    }
    assertStays(new OfFinalClass());
    assertStays(new OfFinalMethod());
    assertStays(HasNoConstructor.make());
  }

  private static URL[] driver() {
    return new URL[] {PGSimpleDataSource.class.getProtectionDomain().getCodeSource().getLocation()};
  }

  private static void assertStays(DataSource pool) {
    var logger = (Logger) LoggerFactory.getLogger(WatchedPools.class);
    var lines = new ListAppender<ILoggingEvent>();
    lines.start();
    logger.addAppender(lines);
    try {
      assertThat(bean(pool)).isSameAs(pool);
    } finally {
      logger.detachAppender(lines);
    }
    assertThat(lines.list)
        .singleElement()
        .satisfies(
            line ->
                assertThat(line.getFormattedMessage()).contains("bean pool cannot have a proxy"));
  }

  private static Object bean(DataSource pool) {
    var beans = new DefaultListableBeanFactory();
    var watched = new WatchedPools();
    watched.setBeanClassLoader(WatchedPoolsTest.class.getClassLoader());
    beans.addBeanPostProcessor(watched);
    return beans.initializeBean(pool, "pool");
  }

  @SuppressWarnings("serial")
  static final class OfFinalClass extends PGSimpleDataSource {}

  @SuppressWarnings("serial")
  static class OfFinalMethod extends PGSimpleDataSource {
    @Override
    public final Connection getConnection() throws SQLException {
      return super.getConnection();
    }
  }

  @SuppressWarnings("serial")
  static class HasNoConstructor extends PGSimpleDataSource {
    private HasNoConstructor() {}

    static DataSource make() {
      return new HasNoConstructor();
    }
  }
}
