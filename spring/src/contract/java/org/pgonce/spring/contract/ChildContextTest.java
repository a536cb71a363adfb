package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.Status;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.PgOnceTemplate;
import org.pgonce.spring.Subscription;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** A context below another one, both with Boot's auto-configuration, listens by itself. */
@Tag("second")
@PgTest
class ChildContextTest {

  @Test
  void itListensAndItsEndLeavesTheParentListening(TestDatabase database) throws Exception {
    try (var parent = Service.start(database, LifecycleTest.Saves.class)) {
      try (var child = childOf(parent)) {
        database.execute("SELECT pgonce.publish('of_child', '{\"number\": 1}')");
        assertThat(child.getBean(Child.class).handled.await(30, TimeUnit.SECONDS)).isTrue();
      }
      assertThat(parent.bean(PgOnce.class).status().state()).isEqualTo(Status.State.RUNNING);
      parent.publish(1, 1);
      parent.awaitQuiet();
      assertThat(parent.effects("saved")).isEqualTo(1);
    }
  }

  /** Both would call its handler, the child's in the child's database. */
  @Test
  void whatTheParentListensToIsTheParentsAlone(TestDatabase database) {
    try (var parent = Service.start(database, Parent.class);
        var child = childOf(parent)) {
      assertThat(listened(parent.context())).containsExactlyInAnyOrder("job", "of_parent");
      assertThat(listened(child)).containsExactly("of_child");
    }
  }

  /** The transactions are the parent's, which has no pgonce. */
  @Test
  void h1_publishingBehindTheCommitIsRefusedWithTheParentsManager(TestDatabase database) {
    try (var parent = Service.start(database, LifecycleTest.Nothing.class, "pgonce.enabled=false");
        var child = childOf(parent)) {
      var pgonce = child.getBean(PgOnceTemplate.class);
      var behind =
          new TransactionSynchronization() {
            @Override
            public void afterCommit() {
              pgonce.publish(Child.ofChild(), new Job(1));
            }
          };
      assertThatThrownBy(
              () ->
                  child
                      .getBean(TransactionTemplate.class)
                      .executeWithoutResult(
                          status ->
                              TransactionSynchronizationManager.registerSynchronization(behind)))
          .isInstanceOf(IllegalTransactionStateException.class)
          .hasMessageContaining("behind the transaction's commit");
    }
  }

  private static List<String> listened(ApplicationContext context) {
    return context.getBean(PgOnce.class).status().channels().stream()
        .map(Status.ChannelActivity::channel)
        .toList();
  }

  private static ConfigurableApplicationContext childOf(Service parent) {
    return new SpringApplicationBuilder(Child.class)
        .parent(parent.context())
        .web(WebApplicationType.NONE)
        .properties(ContractApplication.properties(parent.database()))
        .run();
  }

  static class Parent {

    @Bean
    static Channel<Job> ofParent() {
      return Channel.of("of_parent", Job.class);
    }

    @Bean
    static Subscription<Job> handlesOfParent(Channel<Job> ofParent) {
      return Subscription.of(ofParent).handle((notification, tx) -> {});
    }

    @PgOnceListener(channel = "job")
    void handle(Job job) {}
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
