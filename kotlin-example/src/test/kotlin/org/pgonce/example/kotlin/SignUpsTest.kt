package org.pgonce.example.kotlin

import java.time.Duration
import javax.sql.DataSource
import org.assertj.core.api.Assertions.assertThat
import org.assertj.core.api.Assertions.assertThatThrownBy
import org.awaitility.Awaitility.await
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Test
import org.pgonce.jackson.JacksonCodec
import org.pgonce.test.PgOnceTest
import org.pgonce.test.PgOnceTester
import org.pgonce.triggers.TriggerChannel
import java.nio.file.Files
import java.nio.file.Path

/** A data class is a payload, by Jackson's module for Kotlin, which is found on the class path. */
@PgOnceTest
class SignUpsTest {

  @BeforeEach
  fun tables(pgonce: PgOnceTester) {
    pgonce.execute(
      "create table greeting (user_id bigint primary key, email text, language text not null)"
    )
  }

  @Test
  fun aListenerHandlesADataClass(pgonce: PgOnceTester, dataSource: DataSource) {
    serve(dataSource).use {
      dataSource.connection.use { connection ->
        it.publisher().publish(connection, signedUp, SignedUp(1, null, "de"))
      }
      await().atMost(Duration.ofSeconds(30)).until {
        pgonce.count("select count(*) from greeting where user_id = 1 and language = 'de'") == 1L
      }
    }
  }

  @Test
  fun whatIsMissingHasItsDefaultAndWhatIsNotNullableIsAsked(pgonce: PgOnceTester) {
    pgonce.install(signedUp)
    pgonce.execute("""select pgonce.publish('signed_up', '{"user_id": 2}')""")
    assertThat(pgonce.drain(signedUp, greet)).isEqualTo(1)
    assertThat(pgonce.count("select count(*) from greeting where language = 'en'")).isEqualTo(1)

    pgonce.execute("""select pgonce.publish('signed_up', '{"user_id": 3, "language": null}')""")
    assertThatThrownBy { pgonce.drain(signedUp, greet) }.hasMessageContaining(".language")
    assertThat(pgonce.assertThat().hasDeadLetter(signedUp)).isNotNull()
  }

  @Test
  fun theTestKitTakesALambda(pgonce: PgOnceTester) {
    pgonce.install(signedUp)
    pgonce.publish(signedUp, SignedUp(4, "a@example.org"))
    val seen = mutableListOf<SignedUp>()
    pgonce.drain(signedUp) { notification, _ -> seen.add(notification.payload()) }
    assertThat(seen).containsExactly(SignedUp(4, "a@example.org", "en"))
  }

  @Test
  fun whatIsNullGoesIntoTheDatabaseAndComesBack(pgonce: PgOnceTester) {
    pgonce.install(signedUp)
    pgonce.publish(signedUp, SignedUp(5, null))
    val emails = mutableListOf<String?>()
    pgonce.drain(signedUp) { notification, tx ->
      greet.handle(notification, tx)
      emails +=
        tx.query<String?>(
          "select email from greeting where email is not distinct from ?",
          { row -> row.getString(1) },
          notification.payload().email,
        )
    }
    assertThat(emails).containsExactly(null)
  }

  @Test
  fun aRowIsReadAsARecordOrAsAnyDataClass(pgonce: PgOnceTester) {
    pgonce.install(greeted)
    pgonce.execute("insert into greeting values (6, null, 'de')")
    val seen = mutableListOf<GreetingRow>()
    pgonce.drain(greeted) { notification, _ -> seen.add(notification.payload()) }
    assertThat(seen).containsExactly(GreetingRow(6, null, "de"))
  }

  data class Uncompared(val userId: Long, val greeting: String)

  @Test
  fun aRecordIsComparedWithItsTableAndOtherDataClassesAreNot(pgonce: PgOnceTester) {
    pgonce.execute("alter table greeting rename language to tongue")
    assertThatThrownBy { pgonce.install(greeted) }.hasMessageContaining("GreetingRow.language")

    val uncompared = TriggerChannel.on("greeting", Uncompared::class.java).afterInsert().build()
    pgonce.install(uncompared)
    pgonce.execute("insert into greeting values (7, null, 'de')")
    assertThatThrownBy { pgonce.drain(uncompared) { _, _ -> } }
      .hasMessageContaining(".greeting: the field is missing")
    pgonce.assertThat().hasDeadLetter(uncompared)
  }

  data class WithDefault(val userId: Long, val email: String = "none")

  @Test
  fun aColumnThatIsNullHasNoDefault(pgonce: PgOnceTester) {
    val rows = TriggerChannel.on("greeting", WithDefault::class.java).afterInsert().build()
    pgonce.install(rows)
    pgonce.execute("insert into greeting values (8, null, 'de')")
    assertThatThrownBy { pgonce.drain(rows) { _, _ -> } }.hasMessageContaining(".email")
    pgonce.assertThat().hasDeadLetter(rows)
  }

  data class Preferences(val language: String = "en", val news: Boolean = false)

  /** It has a constructor without parameters, too, by which its values would be lost. */
  @Test
  fun aDataClassWhoseParametersAllHaveDefaultsIsTaken() {
    val codec = JacksonCodec()
    codec.requireDecodable(Preferences::class.java)
    val read = codec.decode("""{"language": "de"}""", Preferences::class.java)
    assertThat(read).isEqualTo(Preferences("de"))
  }

  @Test
  fun thePageQuotesIt() {
    val source = Files.readString(Path.of("src/main/kotlin/org/pgonce/example/kotlin/SignUps.kt"))
    val page = Files.readString(Path.of("../docs/kotlin.md"))
    for (name in listOf("kotlin", "rows")) {
      val quoted = source.substringAfter("// quoted: $name\n").substringBefore("// end")
      assertThat(page).contains("```kotlin\n$quoted```")
    }
  }
}
