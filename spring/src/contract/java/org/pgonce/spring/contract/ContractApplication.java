package org.pgonce.spring.contract;

import java.util.stream.Stream;
import org.pgonce.Channel;
import org.pgonce.testkit.TestDatabase;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/** A service that each test adds its listeners to. */
@SpringBootApplication
public class ContractApplication {

  record Job(long number) {}

  static final String PUBLISH =
      "SELECT pgonce.publish('job', json_build_object('number', n)) FROM generate_series(%d, %d) n";

  @Bean
  Channel<Job> job() {
    return Channel.of("job", Job.class);
  }

  /**
   * Starts it.
   *
   * @param settings properties beside those of the data source, as {@code name=value}
   */
  static ConfigurableApplicationContext start(
      TestDatabase database, Class<?> listeners, String... settings) {
    return start(database, WebApplicationType.NONE, listeners, settings);
  }

  static ConfigurableApplicationContext start(
      TestDatabase database, WebApplicationType type, Class<?> listeners, String... settings) {
    return new SpringApplicationBuilder(ContractApplication.class, listeners)
        .web(type)
        .properties(properties(database, settings))
        .run();
  }

  static String[] properties(TestDatabase database, String... settings) {
    return Stream.concat(
            Stream.of(
                "spring.datasource.url=" + database.jdbcUrl(),
                "spring.datasource.username=" + database.user(),
                "spring.datasource.password=" + database.password(),
                "spring.flyway.locations=classpath:db/migration,classpath:db/contract",
                "spring.jpa.properties.hibernate.generate_statistics=true",
                "spring.main.banner-mode=off"),
            Stream.of(settings))
        .toArray(String[]::new);
  }
}
