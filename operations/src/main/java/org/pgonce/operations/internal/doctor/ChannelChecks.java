package org.pgonce.operations.internal.doctor;

import static org.pgonce.operations.internal.doctor.Finding.Severity.ERROR;
import static org.pgonce.operations.internal.doctor.Finding.Severity.INFO;
import static org.pgonce.operations.internal.doctor.Finding.Severity.WARNING;

import java.util.List;

/** Channels and their listeners. They need the rights of pgonce_monitor. */
final class ChannelChecks {

  static final List<Check> ALL =
      List.of(
          Check.of(
              WARNING,
              "NO_LISTENER",
              "SELECT format('channel %s, subscription %s: nobody listens, and something waits', g.channel, g.subscription) FROM pgonce.channel_gauges g WHERE g.listeners = 0 AND g.backlog + g.scheduled > 0 ORDER BY 1 LIMIT 100",
              "What waits is handled by nobody.",
              "Start the service; pgonce listeners shows who was there."),
          Check.of(
              INFO,
              "NO_LISTENER_YET",
              "SELECT format('channel %s, subscription %s: nobody listens, and nothing waits', g.channel, g.subscription) FROM pgonce.channel_gauges g WHERE g.listeners = 0 AND g.backlog + g.scheduled = 0 ORDER BY 1 LIMIT 100",
              "What is published will wait.",
              "Start the service, or drop the channel if it is no longer used."),
          Check.of(
              WARNING,
              "OUTDATED_LISTENER",
              "SELECT format('listener %s: %s', l.instance, l.outdated) FROM pgonce.listener_status l WHERE l.alive AND l.outdated <> '' ORDER BY 1 LIMIT 100",
              "It handles nothing of that channel, as its code has another definition than the installed one.",
              "Deploy the installed definition to it, or install the one that it has."),
          Check.of(
              ERROR,
              "NO_TRIGGER",
              """
              SELECT DISTINCT format('channel %s is fed by "%s", and no table has its trigger', c.channel, c.feed) FROM pgonce.channel_settings c
               WHERE c.feed <> 'published' AND NOT EXISTS (
                 SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_namespace n ON n.oid = p.pronamespace
                  WHERE n.nspname = 'pgonce_triggers' AND p.proname = 'capture_' || c.channel) ORDER BY 1 LIMIT 100
              """,
              "Nothing that is written makes a notification.",
              "Install the channel again, by the service or its printed migration."));

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
