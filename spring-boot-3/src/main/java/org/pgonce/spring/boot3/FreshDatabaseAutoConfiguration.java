package org.pgonce.spring.boot3;

import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.spring.internal.NoDatabaseNamed;
import org.pgonce.test.FreshDatabase;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration;
import org.springframework.boot.autoconfigure.jdbc.JdbcConnectionDetails;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;

/** The database of a PgOnceListenerTest that names none; nothing else imports it. */
@AutoConfiguration(
    before = DataSourceAutoConfiguration.class,
    afterName =
        "org.springframework.boot.testcontainers.service.connection.ServiceConnectionAutoConfiguration")
@ConditionalOnMissingBean({DataSource.class, JdbcConnectionDetails.class})
@Conditional(NoDatabaseNamed.class)
public class FreshDatabaseAutoConfiguration {

  /** Closed with the context, behind the pool. */
  @Bean
  FreshDatabase pgOnceFreshDatabase() {
    return FreshDatabase.create();
  }

  @Bean
  JdbcConnectionDetails pgOnceFreshDatabaseDetails(FreshDatabase database) {
    return new Details(database);
  }

  private record Details(FreshDatabase database) implements JdbcConnectionDetails {

    @Override
    public String getJdbcUrl() {
      return database.url();
    }

    @Override
    public @Nullable String getUsername() {
      return database.user();
    }

    @Override
    public @Nullable String getPassword() {
      return database.password();
    }
  }
}
