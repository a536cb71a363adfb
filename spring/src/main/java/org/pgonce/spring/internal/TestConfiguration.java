package org.pgonce.spring.internal;

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
      ObjectProvider<PayloadCodec> codec,
      ObjectProvider<HandlerInterceptor> interceptors) {
    return PgOnceTester.on(ours.pool(), codec.getIfAvailable(PayloadCodec::standard))
        .interceptors(interceptors.orderedStream().toArray(HandlerInterceptor[]::new))
        // Within it no handler is called: what the test published is not committed, and not found.
        .beforeDrain(JoinedTransactions::requireNone);
  }

  @Bean
  Registrar.Witness pgOnceTesterListens(PgOnceTester tester) {
    return tester::listen;
  }
}
