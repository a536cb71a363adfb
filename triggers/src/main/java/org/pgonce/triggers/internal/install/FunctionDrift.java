package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.Quoted;

/** In what a channel's function differs from its definition. */
final class FunctionDrift {

  /** A subscription in a function's text, with its filter, as pgonce.subscriptions_sql has it. */
  private static final Pattern SUBSCRIPTION =
      Pattern.compile("\\(\\d+(?:, +E?'(?:[^']|'')*'::jsonb)?\\)");

  private final CaptureFunction wanted;
  private final @Nullable InstalledFunction installed;
  private final @Nullable String subscriptions;
  private final boolean firesOnTable;

  FunctionDrift(State state) {
    this.wanted = state.wanted();
    this.installed = state.function();
    this.subscriptions = state.subscriptions();
    this.firesOnTable = !state.triggersOnTable().isEmpty();
  }

  /** Whether creating it again makes it as defined, or at least comes closer. */
  boolean isToBeReplaced() {
    return installed == null
        || !isTheSame(installed)
        || !installed.mayTrigger()
        || !installed.lacking().isEmpty()
        || !installed.grantees().isEmpty();
  }

  /** One line per difference. */
  List<String> problems() {
    var name = "function " + wanted.name();
    if (installed == null) {
      return List.of(name + " is missing: install the channel again");
    }
    var problems = new ArrayList<String>();
    if (!isOfDefinition(installed, wanted)) {
      problems.add(
          "%s was made from another definition («%s», not «%s»; Triggers.plan shows what differs): install the channel again, unless this is the earlier of two releases that run side by side"
              .formatted(name, installed.comment(), wanted.definition()));
    } else if (!isTheSame(installed) && !isUnchanged(installed)) {
      problems.add(
          name + " was changed after it was installed: install the channel again to mend it");
    } else if (!storesForAll(installed)) {
      problems.add(
          name
              + " does not store for all subscriptions of the channel, with their filters: install the channel again");
    }
    if (!installed.mayTrigger()) {
      // No installation takes it over, see InstallRights.
      problems.add(
          "%s belongs to %s, who may not put triggers on the table: if that role is to have the table's rows, GRANT TRIGGER ON %s TO %s; else look at the function, then drop it (%5$s) or give it to the table's owner (SELECT pgonce.let_capture(%7$s, '…'); ALTER FUNCTION %6$s() OWNER TO …), and install the channel again"
              .formatted(
                  name,
                  installed.owner(),
                  Quoted.table(wanted.table().name()),
                  Quoted.identifier(installed.owner()),
                  TriggerDrift.byHand(
                      wanted.table().isPartitioned(),
                      wanted.table().name(),
                      "DROP FUNCTION " + wanted.name() + "() CASCADE"),
                  wanted.name(),
                  Quoted.literal(wanted.capture().channel())));
    } else if (!installed.lacking().isEmpty()) {
      problems.add(
          "%s belongs to %s, who lacks %s, so that writes of the table fail, or notify for nothing: install the channel again"
              .formatted(name, installed.owner(), String.join(", ", installed.lacking())));
    }
    for (var grantee : installed.grantees()) {
      problems.add(
          "%s may be executed by %s, who can forge notifications by it: REVOKE ALL ON FUNCTION %s() FROM %s"
              .formatted(name, grantee, wanted.name(), grantee));
    }
    return problems;
  }

  /** Why it is not as it would be made now, though nobody has changed it; null if it is. */
  @Nullable String concern() {
    if (installed == null
        || subscriptions == null
        || !isOfDefinition(installed, wanted)
        || isTheSame(installed)
        || !isUnchanged(installed)
        || !storesForAll(installed)) {
      return null;
    }
    return !body().contains(subscriptions) || installed.body().contains(subscriptions)
        ? "function %s was made for the table as it was before it was altered: install the channel again"
            .formatted(wanted.name())
        : "function %s stores for subscriptions that the channel has no longer: install the channel again"
            .formatted(wanted.name());
  }

  /**
   * What became of the table, where the form of its triggers fits the table as it was when the
   * channel was installed; null if nothing did, or another table has its name. PostgreSQL (14 to
   * 18) attaches a table that has triggers per statement, with transition tables too, and lets it
   * inherit; such a trigger fires for statements that name its own table, and for no others.
   */
  @Nullable String formProblem() {
    var table = wanted.table();
    if (installed == null
        || !firesOnTable
        || wanted.capture().filter().form() != null
        || isOfDefinition(installed, wanted)
        || !isOfDefinition(installed, wanted.beforeItsTableChanged())) {
      return null;
    }
    return table.form().isOfSeveral()
        ? "%s since it got its triggers, which fire once for a statement that names %s and for no other: install the channel again, which makes them per row"
            .formatted(TableRelations.relations(table.form(), table.name()), table.name())
        : "table %s has become a table by itself since it got its triggers, which are per row: install the channel again, which makes them per statement"
            .formatted(table.name());
  }

  /** That payloads would get an earlier version than they have now; null if they would not. */
  @Nullable String earlierVersion() {
    var version = CaptureFunction.versionIn(wanted.definition());
    var later = installed == null ? version : CaptureFunction.versionIn(installed.comment());
    return later <= version
        ? null
        : "function %s writes version %d of its payloads, and the definition here has version %d: if that is an earlier release that starts again beside a later one, let the later one install the channel again"
            .formatted(wanted.name(), later, version);
  }

  /** What would change, as lines of a diff. */
  List<String> diff() {
    return installed == null
        ? LineDiff.between(List.of(), wanted.create(subscriptions).lines().toList())
        : LineDiff.between(
            lines(settings(installed), installed.body(), installed.comment()),
            lines(settings(wanted.pins().needed()), body(), wanted.comment(body())));
  }

  private static boolean isOfDefinition(InstalledFunction installed, CaptureFunction wanted) {
    return CaptureFunction.definitionIn(installed.comment()).equals(wanted.definition());
  }

  private boolean isTheSame(InstalledFunction installed) {
    return installed.body().equals(body())
        && installed.comment().equals(wanted.comment(body()))
        && hasItsSettings(installed)
        && settings(installed).containsAll(settings(wanted.pins().needed()));
  }

  /** Nobody has changed it, whatever became of table and subscriptions. */
  private boolean isUnchanged(InstalledFunction installed) {
    return hasItsSettings(installed)
        && CaptureFunction.isUnchanged(installed.body(), installed.comment());
  }

  private boolean storesForAll(InstalledFunction installed) {
    var has = withoutNulls(installed.body());
    return subscriptions == null
        || !body().contains(subscriptions)
        || SUBSCRIPTION
            .matcher(withoutNulls(subscriptions))
            .results()
            .allMatch(subscription -> has.contains(subscription.group()));
  }

  /** One without a filter is written with a null where others have one. */
  private static String withoutNulls(String text) {
    return text.replace(", NULL::jsonb)", ")");
  }

  /** Those that its table needs now, or needed, and no others. */
  private boolean hasItsSettings(InstalledFunction installed) {
    var pins = wanted.pins();
    return installed.definer()
        && settings(pins.allowed()).containsAll(settings(installed))
        && settings(installed).containsAll(settings(pins.always()));
  }

  private String body() {
    return wanted.body(subscriptions);
  }

  private static Set<String> settings(Map<String, String> pins) {
    return pins.entrySet().stream()
        .map(setting -> setting.getKey() + "=" + setting.getValue())
        .collect(Collectors.toSet());
  }

  /** Where quote_all_identifiers was on, PostgreSQL has put the schemas of the path in quotes. */
  private static Set<String> settings(InstalledFunction installed) {
    return installed.settings().stream()
        .map(setting -> setting.replace("\"pg_catalog\", \"pg_temp\"", "pg_catalog, pg_temp"))
        .collect(Collectors.toSet());
  }

  private static List<String> lines(Set<String> settings, String body, String comment) {
    var lines = new ArrayList<String>();
    settings.stream().sorted().map(setting -> "SET " + setting).forEach(lines::add);
    body.lines().filter(line -> !line.isEmpty()).forEach(lines::add);
    lines.add(comment);
    return lines;
  }
}
