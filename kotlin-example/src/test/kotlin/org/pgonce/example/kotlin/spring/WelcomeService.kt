package org.pgonce.example.kotlin.spring

import org.pgonce.Channel
import org.pgonce.example.kotlin.SignedUp
import org.pgonce.spring.PgOnceListener
import org.springframework.boot.autoconfigure.SpringBootApplication
import org.springframework.context.annotation.Bean
import org.springframework.jdbc.core.simple.JdbcClient
import org.springframework.stereotype.Component

// quoted: spring
@SpringBootApplication(proxyBeanMethods = false) // else a configuration has to be open
class WelcomeService {

  @Bean fun signedUp(): Channel<SignedUp> = Channel.of("signed_up", SignedUp::class.java)
}

@Component
class Welcome(private val jdbc: JdbcClient) {

  @PgOnceListener(channel = "signed_up")
  fun greet(user: SignedUp) {
    jdbc
      .sql("insert into greeting (user_id, language) values (?, ?)")
      .params(user.userId, user.language)
      .update()
  }
}
// end
