package org.pgonce.operations.internal.doctor;

import static org.pgonce.operations.internal.doctor.Finding.Severity.ERROR;
import static org.pgonce.operations.internal.doctor.Finding.Severity.INFO;
import static org.pgonce.operations.internal.doctor.Finding.Severity.WARNING;

import java.util.List;

/**
 * Channels and their listeners. They need the rights of pgonce_monitor. What causes others stands
 * first, as findings of one severity are shown in this order. What to do about a cause explain
 * tells, and nobody else: they lead there, by the channel's name.
 */
final class ChannelChecks {

  static final List<Check> ALL =
      List.of(
          Check.of(
              ERROR,
              "NO_TRIGGER",
              """
              SELECT DISTINCT format('channel %s is fed by "%s", and no table has its trigger', c.channel, c.feed), format('pgonce explain %s', c.channel) FROM pgonce.channel_settings c
               WHERE c.feed <> 'published' AND NOT EXISTS (
                 SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_namespace n ON n.oid = p.pronamespace
                  WHERE n.nspname = 'pgonce_triggers' AND p.proname = 'capture_' || c.channel)
              UNION
              SELECT format('channel %s is fed by "%s", and its trigger is on table %s, not on %s', c.channel, c.feed, o.oid::regclass, k.oid::regclass), format('pgonce explain %s', c.channel)
                FROM pgonce.channel_settings c JOIN pg_proc p ON p.proname = 'capture_' || c.channel JOIN pg_namespace n ON n.oid = p.pronamespace
                JOIN pg_trigger t ON t.tgfoid = p.oid JOIN pg_class o ON o.oid = t.tgrelid JOIN pg_class k ON k.relnamespace = o.relnamespace
               WHERE n.nspname = 'pgonce_triggers' AND t.tgparentid = 0 AND k.relkind IN ('r', 'p')
                 AND c.feed IN (format('trigger on %I', k.relname), format('trigger on %I.%I', k.relnamespace::regnamespace::name, k.relname))
                 AND NOT EXISTS (SELECT FROM pg_trigger w WHERE w.tgrelid = k.oid AND w.tgfoid = p.oid)
               ORDER BY 1 LIMIT 100
              """,
              "What is written to the table makes no notification."),
          Check.of(
              WARNING,
              "NO_SUBSCRIPTION",
              "SELECT format('channel %s has no subscription', c.channel), format('pgonce explain %s', c.channel) FROM pgonce.channel_settings c WHERE c.subscription IS NULL ORDER BY 1 LIMIT 100",
              "Nothing that is published to it is stored."),
          Check.of(
              WARNING,
              "PAUSED",
              "SELECT format('channel %s, subscription %s: paused since %s by %s: %s', g.channel, g.subscription, date_trunc('second', g.paused_since), regexp_replace(g.paused_by, '^pid \\d+$', 'instance ''\\&'''), g.pause_reason), format('pgonce explain %s', g.channel) FROM pgonce.channel_gauges g WHERE g.paused ORDER BY 1 LIMIT 100",
              "What is stored for it waits until somebody resumes it."),
          Check.of(
              WARNING,
              "NO_LISTENER",
              "SELECT format('channel %s, subscription %s: nobody listens, and something waits', g.channel, g.subscription), format('pgonce explain %s', g.channel) FROM pgonce.channel_gauges g WHERE g.listeners = 0 AND g.backlog + g.scheduled > 0 ORDER BY 1 LIMIT 100",
              "What waits is handled by nobody."),
          Check.of(
              WARNING,
              "OUTDATED_LISTENER",
              "SELECT format('instance ''%s'', started at %s: %s', l.instance, date_trunc('second', l.started_at), l.outdated) FROM pgonce.listener_status l WHERE l.alive AND l.outdated <> '' ORDER BY 1 LIMIT 100",
              "It handles nothing of that channel, as its code has another definition than the installed one.",
              "If the installed one is the newer: deploy it to this listener. If its own is: have its service install it."),
          Check.of(
              WARNING,
              "LOCK_WAIT",
              """
              SELECT format('notification %s of channel %s, subscription %s: its handler, server process %s, waits since %s for %s, held by server process %s', w.id, w.channel,
                            w.subscription, w.pid, date_trunc('second', w.waits_since), w.waits_for, w.blocked_by_pid),
                     format('pgonce explain %s %s', w.channel, w.id)
                FROM pgonce.at_work w
               WHERE EXISTS (SELECT FROM pg_locks l WHERE NOT l.granted) -- asked first: at_work may read much
                 AND w.waits_since < clock_timestamp() - interval '1 second' ORDER BY w.waits_since LIMIT 20
              """,
              "Its worker does nothing else, and where all wait, nothing is handled."),
          Check.of(
              WARNING,
              "RATE_TOO_LOW",
              """
              SELECT format('channel %1$s, subscription %2$s: %6$s%3$s wait, and %4$s a second may begin, which takes %6$s%5$s', g.channel, g.subscription, w.waiting, c.max_rate,
                            justify_hours(date_trunc('second', w.waiting * interval '1 second' / c.max_rate)), CASE WHEN greatest(g.backlog, g.due) >= 100000 THEN 'at least ' END),
                     format('pgonce explain %s', g.channel)
                FROM pgonce.channel_gauges g JOIN pgonce.channel_settings c ON c.channel = g.channel AND c.subscription = g.subscription
               CROSS JOIN LATERAL (SELECT g.backlog + g.due AS waiting) w
               WHERE c.max_rate IS NOT NULL AND w.waiting > 600.0 * c.max_rate ORDER BY 1 LIMIT 100
              """,
              "What waits now takes more than 10 minutes, however many listen."),
          Check.of(
              WARNING,
              "HANDLER_FAILS",
              """
              SELECT format('channel %s, subscription %s: %s%s have failed and wait for their next attempt, the last of them with: %s', g.channel, g.subscription,
                            CASE WHEN g.scheduled >= 100000 THEN 'at least ' END, g.retrying, l.last_error),
                     format('pgonce explain %s %s', g.channel, l.id)
                -- Counted first, to their bound: the last one is looked for where one has failed.
                FROM (SELECT c.channel, c.subscription, c.scheduled, c.retrying FROM pgonce.channel_gauges c WHERE c.retrying > 0 ORDER BY c.channel, c.subscription LIMIT 100) g
               CROSS JOIN LATERAL (
                 SELECT r.id, r.last_error FROM pgonce.retry_status r WHERE r.channel = g.channel AND r.subscription = g.subscription ORDER BY r.due_at DESC, r.id LIMIT 1) l
               ORDER BY 1
              """,
              "Each attempt does the work again, and the last one makes a dead letter."),
          Check.of(
              WARNING,
              "DEAD_LETTERS",
              "SELECT format('channel %s, subscription %s: %s%s dead letters', g.channel, g.subscription, CASE WHEN g.dead_letters >= 100000 THEN 'at least ' END, g.dead_letters), format('pgonce dead %1$s --group shows what they died of; pgonce explain %1$s ID, what to do about one', g.channel) FROM pgonce.channel_gauges g WHERE g.dead_letters > 0 ORDER BY 1 LIMIT 100",
              "Nothing handles them again by itself; where the channel's order lets them, they block what has their key."),
          Check.of(
              INFO,
              "NO_LISTENER_YET",
              "SELECT format(CASE c.mode WHEN 'BROADCAST' THEN 'channel %s, subscription %s: nobody listens, and it is a BROADCAST' ELSE 'channel %s, subscription %s: nobody listens, and nothing waits' END, g.channel, g.subscription) FROM pgonce.channel_gauges g JOIN pgonce.channel_settings c ON c.channel = g.channel AND c.subscription = g.subscription WHERE g.listeners = 0 AND g.backlog + g.scheduled = 0 ORDER BY 1 LIMIT 100",
              "What is published will wait; that of a BROADCAST is lost while nobody listens.",
              "Start the service, or drop the channel if it is no longer used."));

  /** Needs the rights of a listener, an installer or an administrator. */
  static final Check COPY =
      Check.of(
              ERROR,
              "COPY_NOT_ADOPTED",
              "SELECT c.words FROM pgonce.copy_of_another() AS c (words) WHERE c.words IS NOT NULL",
              "No listener starts in a copy until somebody decides so.",
              "docs/copies.md, then pgonce adopt.")
          // Two queries: the function's name is not read where the schema may not be.
          .where("SELECT has_function_privilege('pgonce.copy_of_another()', 'EXECUTE')")
          .where("SELECT has_schema_privilege('pgonce', 'USAGE')");

  private ChannelChecks() {}
}
