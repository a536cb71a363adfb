package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.jackson.Jackson2Codec;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Bean;
import org.springframework.util.ClassUtils;

/**
 * A data class of Kotlin as payload, by Jackson 2: of Boot 3 alone, as kotlin-example is over Boot
 * 4. Kotlin's own {@code Pair} stands for it, as nothing here compiles Kotlin. Each test has a
 * class path of its own, in the POM.
 */
@PgTest
@Tag("kotlin")
class KotlinPayloadTest {

  @Test
  void withItsModuleItIsHandled(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Pairs.class)) {
      assertThat(PayloadCodec.standard()).isInstanceOf(Jackson2Codec.class);
      database.execute("SELECT pgonce.publish('pairs', '{\"first\": 7, \"second\": \"Ada\"}')");
      service.awaitQuiet();
      assertThat(service.deadLetters()).isZero();
      assertThat(service.effects("(7, Ada)")).isEqualTo(1);
    }
  }

  @Test
  void withoutItsModuleItIsRefusedAtTheStart(TestDatabase database) {
    assertThat(PayloadCodec.standard()).isInstanceOf(Jackson2Codec.class);
    assertThatThrownBy(() -> Service.start(database, Pairs.class))
        .hasStackTraceContaining("no payload can be decoded as kotlin.Pair")
        .hasStackTraceContaining("jackson-module-kotlin: put it on the class path");
  }

  static class Pairs {

    @Autowired Effects effects;

    @Bean
    static Channel<?> pairs() {
      return Channel.of("pairs", ClassUtils.resolveClassName("kotlin.Pair", null));
    }

    @PgOnceListener(channel = "pairs")
    void handle(Object pair) {
      effects.save(new Effect(7, pair.toString()));
    }
  }
}
