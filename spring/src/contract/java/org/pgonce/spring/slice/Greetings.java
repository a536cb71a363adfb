package org.pgonce.spring.slice;

import java.time.Duration;
import org.pgonce.Channel;
import org.pgonce.PublishOptions;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.PgOnceTemplate;
import org.pgonce.spring.slice.Channels.Left;
import org.pgonce.spring.slice.Channels.SignedUp;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

@Component
class Greetings {

  private final JdbcClient jdbc;
  private final PgOnceTemplate pgonce;
  private final Channel<Left> left;

  Greetings(JdbcClient jdbc, PgOnceTemplate pgonce, Channel<Left> left) {
    this.jdbc = jdbc;
    this.pgonce = pgonce;
    this.left = left;
  }

  @PgOnceListener(channel = "signed_up")
  void greet(SignedUp user) {
    jdbc.sql("insert into author (name) values (?)").param(user.name()).update();
    pgonce.publish(
        left, new Left(user.name()), PublishOptions.DEFAULT.withDelay(Duration.ofDays(30)));
  }
}
