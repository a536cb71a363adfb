package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.Status;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** A context below another one, both with Boot's auto-configuration, listens by itself. */
@Tag("second")
@PgTest
class ChildContextTest {

  @Test
  void itListensAndItsEndLeavesTheParentListening(TestDatabase database) throws Exception {
    try (var parent = Service.start(database, LifecycleTest.Saves.class)) {
      try (var child =
          new SpringApplicationBuilder(Child.class)
              .parent(parent.context())
              .web(WebApplicationType.NONE)
              .properties(ContractApplication.properties(database))
              .run()) {
        database.execute("SELECT pgonce.publish('of_child', '{\"number\": 1}')");
        assertThat(child.getBean(Child.class).handled.await(30, TimeUnit.SECONDS)).isTrue();
      }
      assertThat(parent.bean(PgOnce.class).status().state()).isEqualTo(Status.State.RUNNING);
      parent.publish(1, 1);
      parent.awaitQuiet();
      assertThat(parent.effects("saved")).isEqualTo(1);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Child {

    final CountDownLatch handled = new CountDownLatch(1);

    @Bean
    static Channel<Job> ofChild() {
      return Channel.of("of_child", Job.class);
    }

    @PgOnceListener(channel = "of_child")
    void handle(Job job) {
      handled.countDown();
    }
  }
}
