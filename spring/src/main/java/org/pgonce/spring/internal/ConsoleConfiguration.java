package org.pgonce.spring.internal;

import jakarta.servlet.http.HttpServletRequest;
import java.util.Map;
import org.pgonce.console.Console;
import org.pgonce.console.Visitor;
import org.pgonce.spring.PgOnceProperties;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.autoconfigure.condition.AllNestedConditions;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.NoneNestedConditions;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.core.Authentication;
import org.springframework.security.web.csrf.CsrfToken;
import org.springframework.web.servlet.handler.SimpleUrlHandlerMapping;

/** Where the console is wanted: its pages, in the application's own web server. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty(name = "pgonce.console.enabled", havingValue = "true")
class ConsoleConfiguration {

  private static final Logger LOG = LoggerFactory.getLogger(ConsoleConfiguration.class);

  /** The pool is the handlers'. */
  private static final int PAGES_AT_ONCE = 2;

  /** Before the application's own controllers, whatever their patterns take. */
  private static final int ORDER = -1;

  /** Where its artifact is missing. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnMissingClass("org.pgonce.console.Console")
  static class Missing {

    Missing() {
      throw new Refusal(
          "pgonce.console.enabled=true needs the artifact pgonce-console, which is not there: add it, or set the property to false");
    }
  }

  /** In an application with Spring MVC. */
  static final class Mounted extends AllNestedConditions {

    Mounted() {
      super(ConfigurationPhase.REGISTER_BEAN);
    }

    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
    static class Servlets {}

    @ConditionalOnClass({Console.class, SimpleUrlHandlerMapping.class})
    static class Mvc {}
  }

  static final class NotMounted extends NoneNestedConditions {

    NotMounted() {
      super(ConfigurationPhase.REGISTER_BEAN);
    }

    @Conditional(Mounted.class)
    static class Pages {}
  }

  /**
   * In any other. It starts all the same: a service's batch jobs may share its properties, and have
   * no web server.
   */
  @Configuration(proxyBeanMethods = false)
  @Conditional(NotMounted.class)
  @ConditionalOnClass(Console.class)
  static class Nowhere {

    Nowhere() {
      LOG.warn(
          "pgonce.console.enabled=true, and there is no console: its pages need Spring MVC, and this application is reactive (WebFlux) or has no web server. Set the property to false here, and have the pages from the command line (pgonce console) or from a service with Spring MVC.");
    }
  }

  @Configuration(proxyBeanMethods = false)
  @Conditional(Mounted.class)
  static class Pages {

    @Bean
    ConsoleHandler pgOnceConsole(
        OurDataSource ours, PgOnceProperties properties, ConsoleLogins logins) {
      var settings = properties.console();
      LOG.info("pgonce console at {}: {}", settings.path(), logins.rules());
      return new ConsoleHandler(
          Console.of(ours.pool(), settings.operate(), PAGES_AT_ONCE), logins, settings.path());
    }

    @Bean
    SimpleUrlHandlerMapping pgOnceConsoleMapping(ConsoleHandler console) {
      return new SimpleUrlHandlerMapping(Map.of(console.path() + "/**", console), ORDER);
    }
  }

  /** Where Spring Security is there. */
  @Configuration(proxyBeanMethods = false)
  @Conditional(Mounted.class)
  @ConditionalOnClass({Authentication.class, CsrfToken.class})
  static class Secured {

    @Bean
    ConsoleLogins pgOnceConsoleLogins(PgOnceProperties properties) {
      return new SecuredLogins(properties.console());
    }
  }

  /** Where it is not: whoever reaches the application looks, and sees no payload. */
  @Configuration(proxyBeanMethods = false)
  @Conditional(Mounted.class)
  @ConditionalOnMissingClass("org.springframework.security.web.csrf.CsrfToken")
  static class Open {

    @Bean
    ConsoleLogins pgOnceConsoleLogins(PgOnceProperties properties) {
      if (properties.console().operate()) {
        throw new Refusal(
            "pgonce.console.operate=true needs a login, and Spring Security is not there: add spring-boot-starter-security, or set the property to false");
      }
      return new Everyone();
    }
  }

  private record Everyone() implements ConsoleLogins {

    @Override
    public Access of(HttpServletRequest request) {
      return Access.to(Visitor.looking(null));
    }

    @Override
    public String rules() {
      return "for reading only, without payloads, by EVERYONE who reaches this application, as Spring Security is not there";
    }
  }
}
