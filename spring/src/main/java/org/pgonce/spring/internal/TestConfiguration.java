package org.pgonce.spring.internal;

import java.sql.SQLException;
import javax.sql.DataSource;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.Status;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.test.PgOnceTester;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Where pgonce-test is there: a tester that knows the listeners, and whose handlers run in Spring's
 * transaction.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(PgOnceTester.class)
class TestConfiguration {

  private static final Logger LOG = LoggerFactory.getLogger(TestConfiguration.class);

  private static final String LISTENING =
      "SELECT string_agg(l.instance, ', ') FROM pgonce.listener_status AS l WHERE l.alive AND ? = ANY (l.channels)";

  @Bean
  @ConditionalOnMissingBean
  PgOnceTester pgOnceTester(
      OurDataSource ours,
      PgOnce pgonce,
      ObjectProvider<PayloadCodec> codec,
      ObjectProvider<HandlerInterceptor> interceptors) {
    return PgOnceTester.on(ours.pool(), codec.getIfAvailable(PayloadCodec::standard))
        .interceptors(interceptors.orderedStream().toArray(HandlerInterceptor[]::new))
        .beforeDrain(
            channel -> {
              // Within one the test's publishing is not committed, and not found.
              JoinedTransactions.requireNone();
              requireNoListener(pgonce.status(), channel);
              warnOfListeners(ours.pool(), channel);
            });
  }

  /** It would take what the test published, and drain would find it or not. */
  private static void requireNoListener(Status status, Channel<?> channel) {
    if (status.state() == Status.State.RUNNING
        && status.channels().stream().anyMatch(one -> one.channel().equals(channel.name()))) {
      throw new IllegalStateException(
          "drain(%s): the listeners of this context are at work, and take what the test publishes. Set pgonce.auto-startup=false in the test; or let them handle it, and wait for what they do in place of the drain"
              .formatted(channel.name()));
    }
  }

  /**
   * Those of other contexts: Spring 6 leaves them at work in its cache. It does not fail the drain,
   * as a process that was killed counts as a listener for a while.
   */
  private static void warnOfListeners(DataSource pool, Channel<?> channel) {
    try (var connection = pool.getConnection();
        var statement = connection.prepareStatement(LISTENING)) {
      statement.setString(1, channel.name());
      try (var row = statement.executeQuery()) {
        if (row.next() && row.getString(1) != null) {
          LOG.warn(
              "pgonce: drain({}): the listeners of {} are at work in this database, and may take what the test publishes: those of a cached context, perhaps. Give their test classes pgonce.auto-startup=false or @DirtiesContext, or a database each",
              channel.name(),
              row.getString(1));
        }
      }
    } catch (SQLException e) {
      LOG.debug("pgonce: drain does not know who else listens", e);
    }
  }

  @Bean
  Registrar.Witness pgOnceTesterListens(PgOnceTester tester) {
    return tester::listen;
  }
}
