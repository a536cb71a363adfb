package org.pgonce.console.internal.site;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.Response;
import org.pgonce.console.internal.act.Change;
import org.pgonce.console.internal.act.Target;
import org.pgonce.console.internal.act.Verb;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Confirmation;
import org.pgonce.console.internal.page.Section.Fact;
import org.pgonce.console.internal.page.Section.Facts;
import org.pgonce.console.internal.page.Section.Field;
import org.pgonce.console.internal.page.Section.Note;
import org.pgonce.console.internal.page.Words;

/** Says what would be touched and asks why; then does it. */
final class ActPage {

  private static final int LONGEST_REASON = 2_000;

  private ActPage() {}

  /** What would be done, how many it would touch, and the field for the reason. */
  static Content ask(Visit visit) {
    var change = change(visit, visit.request().query());
    var target = change.target();
    if (change.verb().isOfDeadLetters()) {
      var now = visit.rows("SELECT clock_timestamp()::text AS now").column("now").get(0);
      target = target.before(String.valueOf(now)); // what dies later was not shown
    }
    var shown = new Change(change.verb(), target);
    var all = shown.wouldTouch(visit.database());
    var touched = all;
    if (shown.isOfAllThatFit() && all > Change.BATCH) {
      shown = shown.ofOneBatch(visit.database());
      touched = shown.wouldTouch(visit.database());
    }
    var title =
        "%s %s %s?".formatted(change.verb().label(), Words.count(touched), change.verb().things());
    var sections = new ArrayList<Section>();
    sections.add(facts(shown, touched));
    if (touched == 0) {
      sections.add(new Note("Nothing fits: nothing would be changed.", "warn"));
    } else {
      if (touched < all) {
        sections.add(
            new Note(
                "%s %s fit. This is done for those of the first %s ids; ask again for the rest."
                    .formatted(Words.count(all), shown.verb().things(), Words.count(Change.BATCH)),
                "warn"));
      }
      sections.add(
          new Confirmation(
              visit.paths().page("act"),
              change.verb().label(),
              visit.visitor().csrfField(),
              visit.visitor().csrfToken(),
              fields(shown)));
    }
    return Content.still(title, "", sections);
  }

  private static Facts facts(Change change, long touched) {
    var facts = new ArrayList<Fact>();
    change.target().fields().forEach((name, value) -> facts.add(Fact.of(words(name), value)));
    if (!change.target().ids().isEmpty()) {
      facts.add(Fact.of("ids", change.target().ids()));
    }
    facts.add(Fact.of("would touch now", Words.count(touched) + " " + change.verb().things()));
    return new Facts("What would be touched", facts);
  }

  private static String words(String name) {
    return switch (name) {
      case "before" -> "died before";
      case "upTo" -> "ids up to";
      case "error" -> "error contains";
      case "group" -> "MD5 of the error";
      default -> name;
    };
  }

  private static List<Field> fields(Change change) {
    var fields = new ArrayList<Field>();
    fields.add(new Field("do", "", change.verb().word(), null));
    change.target().fields().forEach((name, value) -> fields.add(new Field(name, "", value, null)));
    change.target().ids().forEach(id -> fields.add(new Field("id", "", String.valueOf(id), null)));
    if (change.target().ids().isEmpty()) {
      fields.add(new Field("all", "", "yes", null));
    }
    return fields;
  }

  /** Does it, and leads to where it shows. */
  static Response act(Visit visit) {
    var change = change(visit, visit.request().form());
    var because = visit.request().field("because");
    if (because == null || because.length() > LONGEST_REASON) {
      throw new Visit.BadRequestException(
          "A reason is asked for: 1 to %s characters".formatted(Words.count(LONGEST_REASON)));
    }
    var touched = change.doIt(visit.database(), visit.visitor().person(), because);
    var parameters = new LinkedHashMap<String, @Nullable String>();
    parameters.put("did", change.verb().word());
    parameters.put("touched", String.valueOf(touched));
    if (change.verb().isOfDeadLetters()) {
      parameters.put("show", "dead");
    }
    return Response.seeOther(
        Paths.with(visit.paths().channel(change.target().channel()), parameters));
  }

  /** What a redirect says was done: a verb and a number, so that no link can say anything else. */
  static List<Section> done(Visit visit) {
    var verb = Verb.of(visit.parameter("did"));
    var touched = visit.number("touched");
    return verb.isEmpty() || touched == null
        ? List.of()
        : List.of(
            new Note(
                "%s %s %s."
                    .formatted(
                        Words.count(Visit.id(touched)),
                        verb.get().things(),
                        verb.get().participle()),
                touched.equals("0") ? "warn" : "good"));
  }

  private static Change change(Visit visit, Map<String, List<String>> from) {
    var verb =
        Verb.of(first(from, "do"))
            .orElseThrow(() -> new Visit.BadRequestException("no such action"));
    if (!visit.may().contains(verb)) {
      throw new ForbiddenException(
          "This console may not %s: it is for reading only, or its database role has not the right."
              .formatted(verb.word()));
    }
    var channel = first(from, "channel");
    if (channel == null) {
      throw new Visit.BadRequestException("a channel is asked for");
    }
    var chosen = from.getOrDefault("id", List.of());
    var ids = chosen.stream().map(ActPage::id).distinct().toList();
    if (ids.size() > Target.MOST_IDS) {
      throw new Visit.BadRequestException("at most %s ids".formatted(Words.count(Target.MOST_IDS)));
    }
    var all = first(from, "all") != null;
    if (ids.isEmpty() && (verb == Verb.CANCEL || (!verb.isOfSubscriptions() && !all))) {
      throw new Visit.BadRequestException("Nothing was chosen: choose rows of the table");
    }
    var group = first(from, "group");
    var subscription = subscription(first(from, "subscription"), chosen);
    if (group != null && subscription == null) {
      throw new Visit.BadRequestException("a group is of one subscription");
    }
    return new Change(
        verb,
        new Target(
            channel,
            subscription,
            ids,
            first(from, "reason"),
            first(from, "error"),
            group,
            first(from, "before"),
            upTo(first(from, "upTo"))));
  }

  private static @Nullable Long upTo(@Nullable String given) {
    return given == null ? null : Visit.id(given);
  }

  /** Of a row that was chosen: its subscription may stand before it. */
  private static long id(String chosen) {
    return Visit.id(chosen.substring(chosen.indexOf('/') + 1));
  }

  /** A notification has one id, and a row for each subscription: the chosen ones, and no others. */
  private static @Nullable String subscription(@Nullable String given, List<String> chosen) {
    var all = new TreeSet<String>();
    if (given != null) {
      all.add(given);
    }
    for (var one : chosen) {
      if (one.indexOf('/') > 0) {
        all.add(one.substring(0, one.indexOf('/')));
      }
    }
    if (all.size() > 1) {
      throw new Visit.BadRequestException(
          "The chosen rows are of several subscriptions (%s): choose rows of one, or filter by it"
              .formatted(String.join(", ", all)));
    }
    return all.isEmpty() ? null : all.first();
  }

  private static @Nullable String first(Map<String, List<String>> from, String name) {
    var values = from.getOrDefault(name, List.of());
    return values.isEmpty() || values.get(0).isBlank() ? null : values.get(0);
  }
}
