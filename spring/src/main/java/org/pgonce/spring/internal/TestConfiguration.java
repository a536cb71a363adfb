package org.pgonce.spring.internal;

import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.Status;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.test.PgOnceTester;
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

  @Bean
  Registrar.Witness pgOnceTesterListens(PgOnceTester tester) {
    return tester::listen;
  }
}
