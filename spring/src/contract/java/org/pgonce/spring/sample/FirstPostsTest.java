package org.pgonce.spring.sample;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.spring.sample.Channels.AuthorRow;
import org.pgonce.spring.sample.Channels.FirstPostWritten;
import org.pgonce.spring.test.PgOnceListenerTest;
import org.pgonce.test.PgOnceTester;
import org.pgonce.triggers.TriggerChannel;
import org.springframework.beans.factory.annotation.Autowired;

/** docs/spring.md quotes it. */
@PgOnceListenerTest
class FirstPostsTest {

  @Autowired PgOnceTester pgonce;
  @Autowired TriggerChannel<AuthorRow> authorAdded;
  @Autowired Channel<FirstPostWritten> firstPostWritten;
  @Autowired Authors authors;
  @Autowired Posts posts;

  @Test
  void eachAuthorGetsItsFirstPost() {
    var ada = authors.save(new Author("Ada"));
    pgonce.drain(authorAdded); // runs FirstPosts.write, on this thread
    assertThat(posts.findByAuthorId(ada.getId())).hasSize(1);
    assertThat(pgonce)
        .hasPublished(firstPostWritten)
        .withPayload(new FirstPostWritten(ada.getId()))
        .once();
    pgonce.drain(firstPostWritten);
    assertThat(pgonce).isEmpty();
  }
}
