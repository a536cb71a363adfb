package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.TriggerChannel;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Bean;

/** pgonce installs behind Liquibase: a channel's table is Liquibase's. */
@PgTest
@Tag("second")
class LiquibaseTest {

  @Test
  void channelOfATableThatLiquibaseMakesIsInstalled(TestDatabase database) throws Exception {
    try (var service =
        Service.start(
            database,
            Signals.class,
            "spring.flyway.enabled=false",
            "test.liquibase=true",
            "spring.liquibase.change-log=classpath:db/liquibase/changes.sql")) {
      database.execute("INSERT INTO signal VALUES (7)");
      service.awaitQuiet();
      assertThat(service.effects("signalled")).isEqualTo(1);
    }
  }

  record Signal(long number) {}

  static class Signals {

    @Autowired Effects effects;

    @Bean
    static TriggerChannel<Signal> signals() {
      return TriggerChannel.on("signal", Signal.class).afterInsert().build();
    }

    @PgOnceListener(channel = "signal_inserted")
    void handle(Signal signal) {
      effects.save(new Effect(signal.number(), "signalled"));
    }
  }
}
