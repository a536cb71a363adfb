package org.pgonce.triggers;

import java.sql.SQLException;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.testkit.TestDatabase;

/** A database in the middle of its work: one of everything that may wait in pgonce. */
final class DumpScene {

  record Author(long id, String name) {}

  static final TriggerChannel<Author> ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();
  static final Channel<String> MAIL = Channel.of("mail", String.class, Mode.AT_LEAST_ONCE);
  static final Channel<String> ONCE = Channel.of("once", String.class, Mode.AT_MOST_ONCE);

  /** What waits, with everything but the ballast, in a form to compare. */
  static final String WAITING =
      """
      select string_agg(line, E'\\n' order by line) from (
        select 'new ' || to_jsonb(n)::text from pgonce.notification n where subscription_id > 0
        union all select 'later ' || to_jsonb(d)::text from pgonce.scheduled d where subscription_id > 0
        union all select 'dead ' || to_jsonb(l)::text from pgonce.dead_letter l
        union all select 'key ' || to_jsonb(k)::text from pgonce.delivery_key k) s (line)
      """;

  private DumpScene() {}

  static void createTable(TestDatabase database) throws SQLException {
    database.execute(
        "create table author (id bigint not null, name text); create table effect (note text)");
  }

  /** Three new rows of author; of mail one each that is new, later, on lease and dead. */
  static void set(TestDatabase database) throws SQLException {
    createTable(database);
    PgOnce.using(database.dataSource()).install(ADDED, MAIL, ONCE);
    database.execute(
        """
        insert into author values (1, 'Ann'), (2, 'Bob'), (3, 'Cid');
        select pgonce.bury(s.id, pgonce.publish('mail', '"dead"'), 0, null, 1, 'REJECTED', 'no such address')
          from pgonce.subscription s join pgonce.channel c on c.id = s.channel_id where c.name = 'mail';
        select pgonce.publish('mail', '"on lease"');
        select pgonce.publish('once', '"begun"');
        select pgonce.lease(s.id, false, gen_random_uuid(), 1, 10, 'NONE', c.mode)
          from pgonce.subscription s join pgonce.channel c on c.id = s.channel_id where c.name <> 'author_inserted';
        select pgonce.publish('mail', '"new"', delivery_key => 'k1');
        select pgonce.publish('mail', '"later"', delay => '1 hour');
        insert into pgonce.listener (id, instance, subscriptions, listens_by, silence)
          select gen_random_uuid(), 'production', array_agg(id), 'pgjdbc-ng', '1 hour' from pgonce.subscription;
        """);
  }

  static long waiting(TestDatabase database) throws SQLException {
    return database.queryLong("select count(*) from pgonce.notification where subscription_id > 0");
  }

  /** Starts listeners of all channels; what they handle stands in effect. */
  static PgOnce listen(TestDatabase database) {
    var pgonce = PgOnce.using(database.pooled(16));
    pgonce.listen(
        ADDED,
        (added, tx) ->
            tx.update(
                "insert into effect values (?)",
                added.deliveryKey() + " " + added.payload().name()));
    pgonce.listen(
        MAIL,
        (mail, tx) ->
            tx.update("insert into effect values (?)", mail.deliveryKey() + " " + mail.payload()));
    pgonce.listen(
        ONCE,
        (once, tx) ->
            tx.update("insert into effect values (?)", once.deliveryKey() + " " + once.payload()));
    try {
      return pgonce.start();
    } catch (RuntimeException e) {
      pgonce.close();
      throw e;
    }
  }
}
