package org.pgonce.spring.slice;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.slice.LiquibaseSliceTest.Signals;
import org.pgonce.spring.test.PgOnceListenerTest;
import org.pgonce.test.PgOnceTester;
import org.pgonce.triggers.TriggerChannel;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.annotation.DirtiesContext;

/** Liquibase makes the tables of the fresh database, and pgonce installs behind it. */
@PgOnceListenerTest(
    listeners = Signals.class,
    properties = {
      "spring.flyway.enabled=false",
      "test.liquibase=true",
      "spring.liquibase.change-log=classpath:db/liquibase/changes.sql"
    })
@Import(Signals.class)
@DirtiesContext
@Tag("second")
class LiquibaseSliceTest {

  @Autowired PgOnceTester pgonce;
  @Autowired TriggerChannel<Signal> signals;

  @Test
  void channelOfItsTableIsInstalled() {
    pgonce.execute("insert into signal values (7)");
    pgonce.drain(signals);
    assertThat(pgonce.count("select count(*) from effect where number = 7")).isEqualTo(1);
  }

  record Signal(long number) {}

  static class Signals {

    private final JdbcClient jdbc;

    Signals(JdbcClient jdbc) {
      this.jdbc = jdbc;
    }

    @Bean
    static TriggerChannel<Signal> signals() {
      return TriggerChannel.on("signal", Signal.class).afterInsert().build();
    }

    @PgOnceListener(channel = "signal_inserted")
    void handle(Signal signal) {
      jdbc.sql("insert into effect (number, how) values (?, 'seen')")
          .param(signal.number())
          .update();
    }
  }
}
