package org.pgonce.example.kotlin.spring

import java.nio.file.Files
import java.nio.file.Path
import java.time.Duration
import org.assertj.core.api.Assertions.assertThat
import org.assertj.core.api.Assertions.assertThatThrownBy
import org.awaitility.Awaitility.await
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Test
import org.pgonce.Channel
import org.pgonce.example.kotlin.SignedUp
import org.pgonce.spring.PgOnceListener
import org.pgonce.testkit.PgTest
import org.pgonce.testkit.TestDatabase
import org.springframework.boot.WebApplicationType
import org.springframework.boot.builder.SpringApplicationBuilder
import org.springframework.context.ConfigurableApplicationContext
import org.springframework.context.annotation.Bean
import org.springframework.jdbc.core.simple.JdbcClient
import org.springframework.transaction.annotation.Transactional

/** Listeners in Kotlin under Spring Boot 4, compiled without the compiler's plugin for Spring. */
@PgTest
class WelcomeServiceTest {

  @BeforeEach
  fun table(database: TestDatabase) {
    database.execute("create table greeting (user_id bigint, language text not null)")
  }

  private fun start(
    database: TestDatabase,
    vararg listeners: Class<*>,
  ): ConfigurableApplicationContext =
    SpringApplicationBuilder(WelcomeService::class.java, *listeners)
      .web(WebApplicationType.NONE)
      .properties(
        "spring.datasource.url=" + database.jdbcUrl(),
        "spring.datasource.username=" + database.user(),
        "spring.datasource.password=" + database.password(),
        "spring.main.banner-mode=off",
      )
      .run()

  private fun awaitGreetings(database: TestDatabase, language: String, count: Long) {
    await().atMost(Duration.ofSeconds(30)).untilAsserted {
      assertThat(
          database.queryLong("select count(*) from greeting where language = '$language'")
        )
        .isEqualTo(count)
    }
  }

  @Test
  fun aFinalClassListensAndWhatIsMissingHasItsDefault(database: TestDatabase) {
    start(database).use {
      database.execute("""select pgonce.publish('signed_up', '{"user_id": 1}')""")
      awaitGreetings(database, "en", 1)
    }
  }

  class OtherChannel {
    @Bean fun other(): Channel<SignedUp> = Channel.of("other", SignedUp::class.java)
  }

  @Transactional
  open class Open(private val jdbc: JdbcClient) {

    @PgOnceListener(channel = "other")
    open fun greet(user: SignedUp) {
      jdbc.sql("insert into greeting values (?, 'proxied')").param(user.userId).update()
    }
  }

  @Test
  fun whatIsOpenListensBehindAProxy(database: TestDatabase) {
    start(database, OtherChannel::class.java, Open::class.java).use {
      database.execute("""select pgonce.publish('other', '{"user_id": 1}')""")
      awaitGreetings(database, "proxied", 1)
    }
  }

  class Suspends {
    @PgOnceListener(channel = "signed_up", subscription = "other")
    suspend fun greet(user: SignedUp) = println(user)
  }

  class Returns {
    @PgOnceListener(channel = "signed_up", subscription = "other") fun greet(user: SignedUp) = user.userId
  }

  /** Its functions are not open: the proxy would run them on itself, without its fields. */
  @Transactional
  open class HalfOpen(private val jdbc: JdbcClient) {
    @PgOnceListener(channel = "signed_up", subscription = "other")
    fun greet(user: SignedUp) {
      jdbc.sql("insert into greeting values (?, 'half')").param(user.userId).update()
    }
  }

  @Transactional
  class NotOpen(private val jdbc: JdbcClient) {
    @PgOnceListener(channel = "signed_up", subscription = "other")
    fun greet(user: SignedUp) {
      jdbc.sql("insert into greeting values (?, 'not')").param(user.userId).update()
    }
  }

  @Test
  fun whatCannotListenIsRefusedAtTheStart(database: TestDatabase) {
    assertThatThrownBy { start(database, Suspends::class.java) }
      .hasMessageContainingAll("Suspends.greet", "is a suspend function", "runBlocking", "withContext")
    assertThatThrownBy { start(database, Returns::class.java) }
      .hasMessageContainingAll("Returns.greet", "returns long")
    assertThatThrownBy { start(database, HalfOpen::class.java) }
      .hasMessageContainingAll("HalfOpen.greet", "is final", "open")
    assertThatThrownBy { start(database, NotOpen::class.java) } // by Spring
      .hasMessageContainingAll("NotOpen", "final class")
  }

  @Test
  fun thePageQuotesIt() {
    val source =
      Files.readString(Path.of("src/test/kotlin/org/pgonce/example/kotlin/spring/WelcomeService.kt"))
    val quoted = source.substringAfter("// quoted: spring\n").substringBefore("// end")
    assertThat(Files.readString(Path.of("../docs/kotlin.md"))).contains("```kotlin\n$quoted```")
  }
}
