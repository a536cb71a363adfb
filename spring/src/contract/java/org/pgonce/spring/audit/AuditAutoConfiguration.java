package org.pgonce.spring.audit;

import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.spring.PgOnceListener;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * Of a starter that is not pgonce's. Its name sorts before pgonce's, so that the order has to be
 * said.
 */
@AutoConfiguration(
    afterName = {
      "org.pgonce.spring.boot4.PgOnceAutoConfiguration",
      "org.pgonce.spring.boot3.PgOnceAutoConfiguration"
    })
@ConditionalOnBean(PgOnce.class)
public class AuditAutoConfiguration {

  public record Audited(String what) {}

  @Bean
  Channel<Audited> audited() {
    return Channel.of("audited", Audited.class);
  }

  @Bean
  Audit audit(JdbcClient jdbc) {
    return new Audit(jdbc);
  }

  static class Audit {

    private final JdbcClient jdbc;

    Audit(JdbcClient jdbc) {
      this.jdbc = jdbc;
    }

    @PgOnceListener(channel = "audited")
    void write(Audited audited) {
      jdbc.sql("insert into author (name) values (?)").param(audited.what()).update();
    }
  }
}
