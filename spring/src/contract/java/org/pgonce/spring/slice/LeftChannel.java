package org.pgonce.spring.slice;

import org.pgonce.Channel;
import org.pgonce.spring.slice.Channels.Left;
import org.springframework.context.annotation.Bean;

abstract class LeftChannel {

  @Bean
  Channel<Left> left() {
    return Channel.of("left", Left.class);
  }
}
