package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.Status;
import org.pgonce.spring.PgOnceCustomizer;
import org.pgonce.spring.PgOnceHeader;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.PgOnceProperties.StartFailure;
import org.pgonce.spring.Subscription;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.spring.internal.PgOnceLifecycle;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.transaction.PlatformTransactionManager;

/** Starts with the context, stops with it, and starts again. */
@Tag("second")
@PgTest
class LifecycleTest {

  @Test
  void contextThatWasStoppedListensAgain(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Saves.class)) {
      for (var round = 1; round <= 3; round++) {
        service.publish(round, round);
        service.awaitQuiet();
        assertThat(service.effects("saved")).isEqualTo(round);
        service.context().stop();
        assertThat(service.bean(PgOnce.class).status().state()).isEqualTo(Status.State.STOPPED);
        service.context().start();
      }
      assertThat(service.bean(PgOnce.class).status().state()).isEqualTo(Status.State.RUNNING);
    }
  }

  static class Saves {

    @Autowired Effects effects;

    @PgOnceListener(channel = "job")
    void handle(Job job) {
      effects.save(new Effect(job.number(), "saved"));
    }
  }

  @Test
  void h85_handlerThatDoesNotEndIsCutOffWithinTheShutdownPhase(TestDatabase database)
      throws Exception {
    var service =
        Service.start(database, Hangs.class, "spring.lifecycle.timeout-per-shutdown-phase=8s");
    service.publish(1, 1);
    assertThat(service.bean(Hangs.class).begun.await(60, TimeUnit.SECONDS)).isTrue();
    var began = System.nanoTime();
    service.close();
    assertThat(System.nanoTime() - began).isLessThan(TimeUnit.SECONDS.toNanos(20));
    assertThat(service.effects("begun")).isZero();
    assertThat(Service.waiting(database)).isEqualTo(1);
  }

  static class Hangs {

    final CountDownLatch begun = new CountDownLatch(1);
    @Autowired Effects effects;

    @PgOnceListener(channel = "job")
    void handle(Job job) throws InterruptedException {
      effects.save(new Effect(job.number(), "begun"));
      begun.countDown();
      new CountDownLatch(1).await();
    }
  }

  /** As the channel of a table in a schema is named; without brackets the key ends at the dot. */
  @Test
  void aNameWithADotStandsInBracketsInAProperty(TestDatabase database) throws Exception {
    try (var service =
        Service.start(database, Dotted.class, "pgonce.channels[app.job_inserted].max-attempts=1")) {
      database.execute("SELECT pgonce.publish('app.job_inserted', '{\"number\": 1}')");
      service.awaitQuiet();
      assertThat(service.deadLetters()).as("by the property").isEqualTo(1);
    }
  }

  /** The environment spells the channel otherwise. */
  @Test
  void h87_theEnvironmentOverridesAPropertyInBrackets(TestDatabase database) throws Exception {
    var environment =
        new SystemEnvironmentPropertySource(
            "test-systemEnvironment", Map.of("PGONCE_CHANNELS_APPJOBINSERTED_MAXATTEMPTS", "1"));
    var settings =
        ContractApplication.properties(
            database,
            "pgonce.channels[app.job_inserted].max-attempts=900",
            "pgonce.channels[app.job_inserted].concurrency=3");
    var application =
        new SpringApplicationBuilder(ContractApplication.class, Dotted.class)
            .web(WebApplicationType.NONE)
            .properties(settings)
            .initializers(
                context -> context.getEnvironment().getPropertySources().addFirst(environment));
    try (var service = new Service(database, application.run())) {
      database.execute("SELECT pgonce.publish('app.job_inserted', '{\"number\": 1}')");
      service.awaitQuiet();
      assertThat(service.deadLetters()).as("by the environment").isEqualTo(1);
      assertThat(service.bean(PgOnce.class).status().channels().get(0).concurrency()).isEqualTo(3);
    }
  }

  @Test
  void withoutBracketsANameWithADotIsRefused(TestDatabase database) {
    var setting = "pgonce.channels.app.job_inserted.max-attempts=1";
    assertThatThrownBy(() -> Service.start(database, Dotted.class, setting))
        .hasStackTraceContaining("pgonce.channels.app names channel app")
        .hasStackTraceContaining("pgonce.channels[app.job_inserted]");
  }

  static class Dotted {

    @Bean
    static Channel<Job> dotted() {
      return Channel.of("app.job_inserted", Job.class);
    }

    @PgOnceListener(channel = "app.job_inserted")
    void handle(Job job) {
      throw new IllegalStateException("never works");
    }
  }

  @Test
  void beanStyleAndCustomizersWork(TestDatabase database) throws Exception {
    try (var service =
        Service.start(database, Beans.class, "pgonce.channels.two-names.max-attempts=1")) {
      database.execute("SELECT pgonce.publish('two_names', '{\"number\": 1}')");
      service.awaitQuiet();
      assertThat(service.effects("mail")).isEqualTo(1);
      assertThat(service.deadLetters()).as("of crm, by the property").isEqualTo(1);
      assertThat(
              database.queryLong(
                  "SELECT count(*) FROM pgonce.listener_status WHERE instance = 'customized'"))
          .isPositive();
    }
  }

  static class Beans {

    @Bean
    static Channel<Job> twoNames() {
      return Channel.of(
          "two_names",
          Job.class,
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT.withSubscriptions("mail", "crm"));
    }

    @Bean
    static Subscription<Job> mail(Channel<Job> twoNames, Effects effects) {
      return Subscription.of(twoNames)
          .named("mail")
          .options(ListenOptions.DEFAULT.withConcurrency(1))
          .handle((notification, tx) -> effects.save(new Effect(1, "mail")));
    }

    @PgOnceListener(channel = "two_names", subscription = "crm", maxAttempts = "${no.such:5}")
    void crm(Job job) {
      throw new IllegalStateException("never works");
    }

    @Bean
    static PgOnceCustomizer customizer() {
      return builder -> builder.instance("customized");
    }
  }

  /** By the annotation the second attempt would come after 12 hours at least. */
  @Test
  void propertyOverridesTheBackoffOfTheAnnotation(TestDatabase database) throws Exception {
    try (var service =
        Service.start(
            database,
            FailsAtFirst.class,
            "pgonce.channels.job.backoff-first=1ms",
            "pgonce.channels.job.backoff-longest=2ms")) {
      service.publish(1, 1);
      service.awaitQuiet();
      assertThat(service.effects("attempt 2")).isEqualTo(1);
    }
    try (var service = Service.start(database, FailsAtFirst.class)) {
      service.publish(2, 2);
      await().atMost(Service.BOUND).until(() -> dueLaterThanIn11Hours(database) == 1);
      assertThat(service.effects("attempt 2")).isEqualTo(1);
    }
  }

  private static long dueLaterThanIn11Hours(TestDatabase database) throws Exception {
    return database.queryLong(
        "SELECT count(*) FROM pgonce.scheduled WHERE subscription_id <> 0 AND due_at > now() + interval '11 hours'");
  }

  static class FailsAtFirst {

    @Autowired Effects effects;

    @PgOnceListener(channel = "job", backoffFirst = "1d", backoffLongest = "2d")
    void handle(Job job, @PgOnceHeader int attempt) {
      if (attempt == 1) {
        throw new IllegalStateException("the first attempt fails");
      }
      effects.save(new Effect(job.number(), "attempt " + attempt));
    }
  }

  @Test
  void validatingRefusesWhatIsNotInstalled(TestDatabase database) throws Exception {
    assertThatThrownBy(() -> Service.start(database, Nothing.class, "pgonce.install=validate"))
        .hasRootCauseInstanceOf(PgOnceException.class)
        .rootCause()
        .hasMessageContaining("schema pgonce");
    Service.start(database, Nothing.class).close();
    Service.start(database, Nothing.class, "pgonce.install=validate").close();
    database.execute("SELECT pgonce.drop_channel('job', 'a test')");
    assertThatThrownBy(() -> Service.start(database, Nothing.class, "pgonce.install=validate"))
        .rootCause()
        .hasMessageContaining("channel job is not installed");
  }

  static class Nothing {}

  @Test
  void h68_startThatFailsIsTriedAgainAndHealthIsDownMeanwhile(TestDatabase database)
      throws Exception {
    try (var service =
        Service.start(
            database, Saves.class, "pgonce.install=never", "pgonce.start-failure=retry")) {
      var lifecycle = service.bean(PgOnceLifecycle.class);
      await()
          .atMost(Service.BOUND)
          .untilAsserted(
              () ->
                  assertThat(lifecycle.health().details().get("failure"))
                      .asString()
                      .contains("schema pgonce"));
      assertThat(lifecycle.health().up()).isFalse();
      PgOnce.using(database.dataSource()).install(Channel.of("job", Job.class));
      await().atMost(Service.BOUND).until(() -> lifecycle.health().up());
      service.publish(1, 1);
      service.awaitQuiet();
      assertThat(service.effects("saved")).isEqualTo(1);
    }
  }

  /** Spring 6.2 destroys the beans of a context that fails at its end, and stops none. */
  @ParameterizedTest
  @EnumSource(StartFailure.class)
  void contextThatFailsAtItsEndLeavesNothingBehind(StartFailure failure, TestDatabase database)
      throws Exception {
    var before = ownThreads();
    var setting = "pgonce.start-failure=" + failure;
    assertThatThrownBy(() -> Service.start(database, FailsAtTheEnd.class, setting))
        .hasStackTraceContaining("the last one fails");
    await().atMost(Service.BOUND).untilAsserted(() -> assertThat(ownThreads()).isSubsetOf(before));
    assertThat(database.queryLong("SELECT count(*) FROM pgonce.listener_status")).isZero();
  }

  private static Set<Thread> ownThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("pgonce"))
        .collect(Collectors.toSet());
  }

  static class FailsAtTheEnd extends Saves {

    @Autowired PgOnce pgonce;

    @EventListener
    void on(ContextRefreshedEvent event) {
      await().atMost(Service.BOUND).until(() -> pgonce.status().state() == Status.State.RUNNING);
      throw new IllegalStateException("the last one fails");
    }
  }

  @Test
  @Tag("all")
  void serviceWithoutAWebServerLivesWhileItListens(TestDatabase database) throws Exception {
    try (var listens =
        JvmProcess.start(ThousandTest.Main.class, ContractApplication.properties(database))) {
      listens.awaitLine(": Started ", Service.BOUND.multipliedBy(4));
      database.execute(ContractApplication.PUBLISH.formatted(1, 5));
      Service.awaitQuiet(database);
      assertThat(listens.isAlive()).isTrue();
      listens.sigterm();
      listens.awaitExit(Service.BOUND);
    }
    try (var onlyPublishes =
        JvmProcess.start(
            ThousandTest.Main.class,
            ContractApplication.properties(database, "pgonce.auto-startup=false"))) {
      onlyPublishes.awaitExit(Service.BOUND.multipliedBy(4));
    }
  }

  @Test
  void whatIsSwitchedOffIsNotThereAndRefusesNothing(TestDatabase database) {
    try (var service = Service.start(database, Nothing.class, "pgonce.enabled=false")) {
      assertThat(service.context().getBeanProvider(PgOnce.class).getIfAvailable()).isNull();
    }
    Service.start(database, OfATest.class, "pgonce.enabled=false").close();
  }

  /** In place of mocks, of which a test knows nothing. */
  static class OfATest extends Saves {

    @Bean
    static PgOnce mine(DataSource pool) {
      return PgOnce.using(pool);
    }

    @Bean
    static PlatformTransactionManager doesNotSay() {
      return new RefusedApartTest.Global.Manager();
    }
  }
}
