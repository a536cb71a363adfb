package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.PgOnceProperties.StartFailure;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.TriggerChannel;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationEvent;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.EventListener;
import org.springframework.jdbc.core.simple.JdbcClient;

/** A first deployment: the service writes as soon as it can, and nothing of that is lost. */
@Tag("second")
@PgTest
class EarlyWritersTest {

  record AuthorRow(long id, String name) {}

  /** Writes before, with and behind the web server. */
  static class Writers {

    @Autowired JdbcClient jdbc;

    @Bean
    static TriggerChannel<AuthorRow> authors() {
      return TriggerChannel.on("author", AuthorRow.class).afterInsert().build();
    }

    @Bean
    static SmartLifecycle earlyWriter(JdbcClient jdbc) {
      return new Writer(jdbc, "early", 2);
    }

    @Bean
    static SmartLifecycle lastWriter(JdbcClient jdbc) {
      return new Writer(jdbc, "last", SmartLifecycle.DEFAULT_PHASE);
    }

    /** Requests are accepted from now on. The event's package differs between the Boots. */
    @EventListener
    void on(ApplicationEvent event) {
      if (event.getClass().getSimpleName().equals("ServletWebServerInitializedEvent")) {
        write(jdbc, "request");
      }
    }

    static void write(JdbcClient jdbc, String name) {
      jdbc.sql("INSERT INTO author (name) VALUES (?)").param(name).update();
    }
  }

  private record Writer(JdbcClient jdbc, String name, int phase) implements SmartLifecycle {

    @Override
    public void start() {
      Writers.write(jdbc, name);
    }

    @Override
    public void stop() {}

    @Override
    public boolean isRunning() {
      return false;
    }

    @Override
    public int getPhase() {
      return phase;
    }
  }

  static class Listens extends Writers {

    @Autowired Effects effects;

    @PgOnceListener(channel = "author_inserted")
    void handle(AuthorRow author) {
      effects.save(new Effect(author.id(), author.name()));
    }
  }

  @ParameterizedTest
  @EnumSource(StartFailure.class)
  void whatIsWrittenBeforeTheListenersStartIsHandled(StartFailure failure, TestDatabase database)
      throws Exception {
    var context =
        ContractApplication.start(
            database,
            WebApplicationType.SERVLET,
            Listens.class,
            "server.port=0",
            "server.address=127.0.0.1",
            "pgonce.start-failure=" + failure);
    try (var service = new Service(database, context)) {
      service.awaitQuiet();
      assertThat(service.effects("early")).isEqualTo(1);
      assertThat(service.effects("request")).isEqualTo(1);
      assertThat(service.effects("last")).isEqualTo(1);
    }
  }

  /** Nothing else asks for Flyway here, as JPA and MyBatis would. */
  @Test
  void migrationsComeFirstWhereBeansAreLazy(TestDatabase database) throws Exception {
    var withoutJpa =
        "spring.autoconfigure.exclude=org.springframework.boot.autoconfigure.orm.jpa.HibernateJpaAutoConfiguration,org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration,org.mybatis.spring.boot.autoconfigure.MybatisAutoConfiguration";
    var settings =
        ContractApplication.properties(
            database,
            withoutJpa,
            "spring.data.jpa.repositories.enabled=false",
            "pgonce.auto-startup=false");
    var application =
        new SpringApplicationBuilder(LazyApplication.class)
            .web(WebApplicationType.NONE)
            .lazyInitialization(true)
            .properties(settings);
    try (var context = application.run()) {
      assertThat(context.isRunning()).isTrue();
      database.execute("INSERT INTO author (name) VALUES ('Ada')");
      assertThat(Service.waiting(database)).isEqualTo(1);
    }
  }

  @SpringBootApplication(scanBasePackages = "org.pgonce.spring.contract.none")
  static class LazyApplication {

    @Bean
    static TriggerChannel<AuthorRow> authors() {
      return Writers.authors();
    }
  }
}
