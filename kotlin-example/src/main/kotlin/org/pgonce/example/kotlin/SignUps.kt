package org.pgonce.example.kotlin

import javax.sql.DataSource
import org.pgonce.Channel
import org.pgonce.Handler
import org.pgonce.PgOnce
import org.pgonce.triggers.TriggerChannel

// quoted: kotlin
inline fun <reified T : Any> channel(name: String): Channel<T> = Channel.of(name, T::class.java)

data class SignedUp(val userId: Long, val email: String?, val language: String = "en")

val signedUp = channel<SignedUp>("signed_up")

val greet = Handler<SignedUp> { notification, tx ->
  val (userId, email, language) = notification.payload()
  tx.update("insert into greeting (user_id, email, language) values (?, ?, ?)", userId, email, language)
}

fun serve(dataSource: DataSource): PgOnce {
  val pgonce = PgOnce.using(dataSource)
  pgonce.install(signedUp)
  pgonce.listen(signedUp, greet)
  return pgonce.start() // listens until it is closed
}
// end

// quoted: rows
@JvmRecord
data class GreetingRow(val userId: Long, val email: String?, val language: String)

val greeted: TriggerChannel<GreetingRow> =
  TriggerChannel.on("greeting", GreetingRow::class.java).afterInsert().build()
// end
