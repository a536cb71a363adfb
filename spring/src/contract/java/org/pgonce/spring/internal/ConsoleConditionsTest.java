package org.pgonce.spring.internal;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.console.Console;
import org.pgonce.spring.PgOnceProperties;
import org.postgresql.ds.PGSimpleDataSource;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.ApplicationContextAssertProvider;
import org.springframework.boot.test.context.runner.AbstractApplicationContextRunner;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.ReactiveWebApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.mock.web.MockHttpServletRequest;

/** What the console does where something that it could stand on is missing. */
@Tag("second")
class ConsoleConditionsTest {

  @EnableConfigurationProperties(PgOnceProperties.class)
  @Import(ConsoleConfiguration.class)
  static class Base {

    @Bean
    DataSource pool() {
      return new PGSimpleDataSource(); // nothing connects
    }

    @Bean
    OurDataSource ours(DataSource pool) {
      return new OurDataSource(pool);
    }
  }

  private static WebApplicationContextRunner service(String... properties) {
    return new WebApplicationContextRunner()
        .withUserConfiguration(Base.class)
        .withPropertyValues(properties);
  }

  private static void assertRefused(ApplicationContextAssertProvider<?> context, String message) {
    assertThat(context.getStartupFailure()).rootCause().hasMessageContaining(message);
  }

  @Test
  void withoutSpringSecurityNobodyOperates() {
    service("pgonce.console.enabled=true", "pgonce.console.operate=true")
        .withClassLoader(new FilteredClassLoader("org.springframework.security"))
        .run(context -> assertRefused(context, "add spring-boot-starter-security"));
  }

  @Test
  void withoutSpringSecurityAllLookAndSeeNoPayload() {
    service("pgonce.console.enabled=true")
        .withClassLoader(new FilteredClassLoader("org.springframework.security"))
        .run(
            context -> {
              var logins = context.getBean(ConsoleLogins.class);
              var visitor = logins.of(new MockHttpServletRequest()).visitor();
              assertThat(visitor).isNotNull();
              assertThat(visitor.mayAct()).isFalse();
              assertThat(visitor.mayReadPayloads()).isFalse();
              assertThat(logins.rules()).contains("EVERYONE");
            });
  }

  @Test
  void withoutItsArtifactTheStartIsRefused() {
    service("pgonce.console.enabled=true")
        .withClassLoader(new FilteredClassLoader(Console.class))
        .run(context -> assertRefused(context, "needs the artifact pgonce-console"));
  }

  @Test
  void withoutItsArtifactAndTheSettingNothingChanges() {
    service()
        .withClassLoader(new FilteredClassLoader("org.pgonce.console"))
        .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean("pgOnceConsole"));
  }

  @Test
  void anApplicationWithoutSpringMvcIsToldThatThereIsNone() {
    var runners =
        List.of(new ApplicationContextRunner(), new ReactiveWebApplicationContextRunner());
    for (var runner : runners) {
      assertThat(warnings(runner, "pgonce.console.enabled=true"))
          .singleElement()
          .asString()
          .contains("need Spring MVC")
          .contains("Set the property to false")
          .contains("pgonce console");
      assertThat(warnings(runner, "pgonce.console.enabled=false")).isEmpty();
    }
  }

  /** And nothing of servlets is made, whose classes a reactive application has not. */
  private static List<String> warnings(
      AbstractApplicationContextRunner<?, ?, ?> runner, String property) {
    var logger = (Logger) LoggerFactory.getLogger(ConsoleConfiguration.class);
    var lines = new ListAppender<ILoggingEvent>();
    lines.start();
    logger.addAppender(lines);
    try {
      runner
          .withUserConfiguration(Base.class)
          .withPropertyValues(property)
          .run(
              context ->
                  assertThat(context)
                      .hasNotFailed()
                      .doesNotHaveBean("pgOnceConsole")
                      .doesNotHaveBean(ConsoleLogins.class));
    } finally {
      logger.detachAppender(lines);
    }
    return lines.list.stream()
        .filter(line -> line.getLevel() == Level.WARN)
        .map(ILoggingEvent::getFormattedMessage)
        .toList();
  }

  @Test
  void aPathThatIsNoneIsRefused() {
    for (var path : new String[] {"pgonce", "/", "/pgonce/", "/a//b", "/../x y"}) {
      service("pgonce.console.enabled=true", "pgonce.console.path=" + path)
          .run(context -> assertThat(context).as(path).hasFailed());
    }
  }
}
