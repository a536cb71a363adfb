package org.pgonce.triggers;

import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.pgonce.Channel;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.testkit.TestDatabase;

/** What must not be found when all has come to rest. Each question is a line of SQL. */
final class CampaignOracle {

  /** How much of everything there was. */
  static final String TALLY =
      """
      select concat_ws(' ', (select count(*) from written), 'written,', (select count(*) from effect), 'done,',
        (select string_agg(action || ' ' || n, ', ') from (select action, count(*) as n from acted group by 1) a))
      """;

  /** To be asked while the sessions are there that may have kept one. */
  static final String LOCKS =
      "select string_agg(concat_ws(' ', classid, objid, mode, pid), '; ') from pg_locks where locktype = 'advisory'";

  private CampaignOracle() {}

  /** The tables that writers, handlers and operators note in; and the table that is watched. */
  static void prepare(TestDatabase database) throws SQLException {
    database.execute(
        """
        create table written (channel text, what text, key text, n bigserial, primary key (channel, what));
        create table effect (channel text, what text, key text, n bigserial);
        create table trace (channel text, what text, pid bigint, n bigserial);
        create table acted (action text, channel text, what text, n bigserial);
        create table item (id bigint primary key, version int not null);
        create function see() returns trigger language plpgsql as $$
        declare
          item item := case when tg_op = 'DELETE' then old else new end;
        begin
          insert into written values ('items', concat_ws(' ', left(tg_op, 1), item.id, item.version), item.id);
          return null;
        end $$;
        create trigger see after insert or update or delete on item for each row execute function see();
        """);
  }

  /** What was found wrong, by question; empty if all is well. */
  static Map<String, String> faults(TestDatabase database) throws SQLException {
    var faults = new LinkedHashMap<String, String>();
    for (var question : questions().entrySet()) {
      var found =
          database.queryString(
              "select string_agg(f::text, '; ') from (select * from (%s) all_of limit 20) f"
                  .formatted(question.getValue()));
      if (found != null) {
        faults.put(question.getKey(), found);
      }
    }
    return faults;
  }

  private static Map<String, String> questions() {
    var questions = new LinkedHashMap<String, String>();
    questions.put(
        "lost",
        """
        select channel, what from written where channel <> 'heard'
        except select channel, what from effect
        except select channel, what from acted where action <> 'redriven'
        """);
    questions.put(
        "never written",
        "select channel, what from effect except select channel, what from written");
    questions.put(
        "done twice",
        "select channel, what, count(*) from effect group by 1, 2 having count(*) > 1");
    questions.put(
        "cancelled and done",
        "select channel, what from acted where action = 'cancelled' intersect select channel, what from effect");
    questions.put(
        "begun more than once",
        """
        select t.channel, t.what, count(*) from trace t where t.channel in (%s) and t.what not like 'too many%%'
         group by 1, 2
        having count(*) > 1 + (select count(*) from acted a where a.action = 'redriven' and (a.channel, a.what) = (t.channel, t.what))
        """
            .formatted(named(channel -> channel.mode() == Mode.AT_MOST_ONCE)));
    questions.put(
        "too many of a key", "select channel, what from trace where what like 'too many%'");
    questions.put(
        "out of order",
        overtaken(
            named(channel -> channel.options().order() != KeyOrder.NONE),
            // What died may be done behind others, and what comes out of turn is done before
            // others.
            "not (w.channel in (%s) and (w.channel, w.what) in (select channel, what from acted where action = 'redriven'))"
                .formatted(named(c -> c.options().order() == KeyOrder.DEAD_LETTER_PASSES))));
    questions.put(
        "heard twice",
        "select what, pid, count(*) from trace where channel = 'heard' group by 1, 2 having count(*) > 1");
    questions.put(
        "left in pgonce's tables",
        """
        select 'notification', subscription_id, id from pgonce.notification where subscription_id > 0
        union all select 'scheduled', subscription_id, id from pgonce.scheduled where subscription_id > 0
        union all select 'dead_letter', subscription_id, id from pgonce.dead_letter
        union all select 'delivery_key of ' || key, channel_id, id from pgonce.delivery_key
        union all select 'subscription of ' || of_channel || ' ' || name, id, null from pgonce.subscription where name <> 'default' or paused_at is not null
        union all select 'rate_limit', subscription_id, null from pgonce.rate_limit where subscription_id not in (select id from pgonce.subscription)
        union all select 'listener ' || instance, null, null from pgonce.listener
        """);
    return questions;
  }

  private static String overtaken(String channels, String counted) {
    return """
        select * from (
          select w.channel, w.key, w.what, lag(w.what) over by_effect as behind, w.n < lag(w.n) over by_effect as overtaken
            from written w join effect e using (channel, what)
           where w.channel in (%s) and %s
          window by_effect as (partition by w.channel, w.key order by e.n)) pairs
         where overtaken
        """
        .formatted(channels, counted);
  }

  private static String named(Predicate<Channel<?>> wanted) {
    return CampaignChannels.stored().stream()
        .filter(wanted)
        .map(channel -> "'" + channel.name() + "'")
        .collect(Collectors.joining(", "));
  }
}
