package org.pgonce.console.internal.site;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Cell;
import org.pgonce.console.internal.page.Section.Fact;
import org.pgonce.console.internal.page.Section.Facts;
import org.pgonce.console.internal.page.Section.Link;
import org.pgonce.console.internal.page.Section.Links;
import org.pgonce.console.internal.page.Section.Note;
import org.pgonce.console.internal.page.Section.Preformatted;
import org.pgonce.console.internal.page.Section.Row;
import org.pgonce.console.internal.page.Section.Table;
import org.pgonce.console.internal.page.Words;
import org.pgonce.operations.internal.sql.LookStatements;
import org.pgonce.operations.internal.sql.Rows;
import org.pgonce.operations.internal.text.Printable;

/**
 * One notification: why it is not moving, what to do, what happened to it, and its payload if
 * asked.
 */
final class NotificationPage {

  private static final Set<String> ABSENT =
      Set.of("DONE_OR_NEVER", "HANDLED", "NOT_STORED", "NOT_COMMITTED_YET");

  private record Event(@Nullable Instant at, String subscription, String what) {}

  private NotificationPage() {}

  static Content of(Visit visit, String channel, long id) {
    var text = String.valueOf(id);
    var answers = visit.rows(LookStatements.EXPLAIN, channel, text, null);
    var sections = new ArrayList<Section>();
    for (var answer : answers.objects()) {
      sections.add(why(visit, channel, answer, "Why it is not moving"));
    }
    var causes = answers.column("cause").stream().map(String::valueOf).toList();
    sections.addAll(buttons(visit, channel, text, causes));
    sections.add(timeline(visit, channel, text, answers));
    sections.addAll(payload(visit, channel, text, ABSENT.containsAll(causes)));
    var title = "Notification " + id + " of channel " + channel;
    // A payload does not change: it is not to be fetched every two seconds.
    return isPayloadAsked(visit)
        ? Content.still(title, "channels", sections)
        : Content.live(title, "channels", sections);
  }

  private static boolean isPayloadAsked(Visit visit) {
    return visit.orEmpty("payload").equals("show");
  }

  /** An answer of explain. */
  static Facts why(
      Visit visit, String channel, Map<String, @Nullable Object> answer, String question) {
    var facts = new ArrayList<Fact>();
    answer.forEach(
        (name, value) -> {
          switch (name) {
            case "subscription", "id" -> {}
            case "blocked_by" ->
                facts.add(
                    new Fact(
                        "blocked by",
                        value == null
                            ? Cell.of(null)
                            : Cell.link(value, visit.paths().notification(channel, value))));
            case "last_sql" -> facts.add(new Fact("last SQL", Cell.code(value)));
            case "created_at" -> facts.add(Fact.of("stored at", value));
            case "pid" -> facts.add(Fact.of("server process", value));
            default -> facts.add(Fact.of(name, value));
          }
        });
    var subscription = Words.of(answer.get("subscription"));
    return new Facts("why-" + subscription, question + ", in subscription " + subscription, facts);
  }

  private static List<Section> buttons(
      Visit visit, String channel, String id, List<String> causes) {
    var links = new ArrayList<Link>();
    for (var verb : visit.may()) {
      var fits =
          verb.isOfDeadLetters()
              ? causes.contains("DEAD")
              : verb.isOfWaiting()
                  && causes.stream()
                      .anyMatch(cause -> !cause.equals("DEAD") && !ABSENT.contains(cause));
      if (fits) {
        var parameters = new LinkedHashMap<String, String>();
        parameters.put("do", verb.word());
        parameters.put("channel", channel);
        parameters.put("id", id);
        links.add(Link.to(verb.label() + "…", Paths.with(visit.paths().page("act"), parameters)));
      }
    }
    return links.isEmpty()
        ? List.of()
        : List.of(Links.actions("actions", "What can be done", links));
  }

  private static Table timeline(Visit visit, String channel, String id, Rows answers) {
    var events = new ArrayList<Event>();
    for (var one : visit.rows(Queries.RETRY, channel, id).objects()) {
      add(
          events,
          one,
          "due_at",
          "next attempt, after %s failed: %s"
              .formatted(Words.of(one.get("attempts")), Words.of(one.get("last_error"))));
    }
    for (var one : visit.rows(Queries.DEATH, channel, id).objects()) {
      add(
          events,
          one,
          "died_at",
          "became a dead letter after %s attempts, %s: %s"
              .formatted(
                  Words.of(one.get("attempts")),
                  Words.of(one.get("reason")),
                  Words.of(one.get("error"))));
    }
    for (var one : answers.objects()) {
      var cause = Words.of(one.get("cause"));
      if (one.get("created_at") != null) {
        add(events, one, "created_at", "stored");
      }
      if (one.get("since") != null && !cause.equals("DEAD")) {
        add(events, one, "since", "since then: " + cause);
      }
      if (one.get("until") != null && !cause.equals("RETRYING")) {
        add(events, one, "until", "until then: " + cause);
      }
    }
    events.sort(Comparator.comparing(Event::at, Comparator.nullsLast(Comparator.naturalOrder())));
    return new Table(
        "timeline",
        "What is known of its way",
        List.of("When", "Subscription", "What"),
        events.stream()
            .map(
                one ->
                    new Row(
                        null,
                        one.what(),
                        List.of(
                            Cell.of(one.at()), Cell.of(one.subscription()), Cell.of(one.what()))))
            .toList(),
        "Nothing: what was handled leaves no trace.",
        null,
        null);
  }

  private static void add(
      List<Event> events, Map<String, @Nullable Object> row, String time, String what) {
    events.add(
        new Event(
            row.get(time) instanceof Instant at ? at : null,
            Words.of(row.get("subscription")),
            what));
  }

  private static List<Section> payload(Visit visit, String channel, String id, boolean absent) {
    if (absent) {
      return List.of();
    }
    var may =
        visit.visitor().mayReadPayloads()
            && visit.database().read(statements -> statements.isTrue(Queries.MAY_SEE_PAYLOADS));
    if (!isPayloadAsked(visit)) {
      return may
          ? List.of(
              Links.actions(
                  "payload",
                  "Payload",
                  List.of(
                      Link.to(
                          "Show the payload, which may be secret",
                          Paths.with(visit.paths().notification(channel, id), "payload", "show")))))
          : List.of(
              new Note(
                  "Payloads, which may be secret, are hidden here: %s.".formatted(toSee(visit)),
                  "good"));
    }
    if (!may) {
      throw new ForbiddenException(
          "Payloads, which may be secret, are hidden here: %s.".formatted(toSee(visit)));
    }
    var found = visit.rows(Queries.PAYLOAD, channel, id).objects();
    if (found.isEmpty()) {
      return List.of(new Note("It was handled meanwhile.", "good"));
    }
    var length = found.get(0).get("length") instanceof Number number ? number.longValue() : 0;
    return List.of(
        new Preformatted(
            length > 100_000
                ? "Payload: the first 100,000 of %s characters".formatted(Words.count(length))
                : "Payload",
            Printable.lines(String.valueOf(found.get(0).get("payload")))));
  }

  private static String toSee(Visit visit) {
    return visit.visitor().mayReadPayloads()
        ? "the console's database role has to be granted pgonce_admin"
        : "they are for persons who may operate";
  }
}
