package org.pgonce.spring.slice;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration
class Others {

  @Bean
  String other() {
    return "other";
  }
}
