package org.pgonce.spring.sample;

import org.pgonce.Channel;
import org.pgonce.spring.PgOnceHeader;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.PgOnceTemplate;
import org.pgonce.spring.sample.Channels.AuthorRow;
import org.pgonce.spring.sample.Channels.FirstPostWritten;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Service;

@Service
class FirstPosts {

  private static final Logger LOG = LoggerFactory.getLogger(FirstPosts.class);

  private final Posts posts;
  private final PgOnceTemplate pgonce;
  private final Channel<FirstPostWritten> written;

  FirstPosts(Posts posts, PgOnceTemplate pgonce, Channel<FirstPostWritten> written) {
    this.posts = posts;
    this.pgonce = pgonce;
    this.written = written;
  }

  /** Once for each row of the table, in whichever instance gets it. */
  @PgOnceListener(channel = "author_inserted", concurrency = "${posts.concurrency:4}")
  void write(AuthorRow author) {
    posts.save(new Post(author.id(), "Welcome, " + author.name() + "!"));
    pgonce.publish(written, new FirstPostWritten(author.id()));
  }

  /** The same key at each attempt, also after a crash: what to give outside systems. */
  @PgOnceListener(channel = "first_post_written")
  void tell(FirstPostWritten first, @PgOnceHeader String deliveryKey, @PgOnceHeader int attempt) {
    LOG.info("author {} has a first post ({}, {})", first.authorId(), deliveryKey, attempt);
  }
}
