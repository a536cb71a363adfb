package org.pgonce.spring.sample;

import org.pgonce.Channel;
import org.pgonce.triggers.TriggerChannel;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration
class Channels {

  record AuthorRow(long id, String name) {}

  record FirstPostWritten(long authorId) {}

  @Bean
  TriggerChannel<AuthorRow> authorAdded() {
    return TriggerChannel.on("author", AuthorRow.class).afterInsert().build();
  }

  @Bean
  Channel<FirstPostWritten> firstPostWritten() {
    return Channel.of("first_post_written", FirstPostWritten.class);
  }
}
