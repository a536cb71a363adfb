package org.pgonce.spring.slice;

import org.pgonce.Channel;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration
class Channels {

  record SignedUp(String name) {}

  record Left(String name) {}

  record Renamed(String before, String now) {}

  @Bean
  Channel<SignedUp> signedUp() {
    return Channel.of("signed_up", SignedUp.class);
  }

  @Bean
  Channel<Renamed> renamed() {
    return Channel.of("renamed", Renamed.class);
  }
}
