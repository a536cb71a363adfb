package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.internal.catalog.InstalledFunction;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.CaptureTrigger;

/** In what one of a channel's functions differs from its definition. */
final class FunctionDrift {

  static final String OWNER = "pgonce_owner";

  private final CaptureFunction wanted;
  private final @Nullable InstalledFunction installed;

  FunctionDrift(CaptureTrigger trigger, State state) {
    this.wanted = new CaptureFunction(trigger);
    this.installed = state.function(trigger);
  }

  /** Why it cannot be replaced; empty if it can. */
  List<String> obstacles() {
    return installed == null || installed.owner().equals(OWNER) ? List.of() : problems();
  }

  /** Whether creating it again makes it as defined, or at least comes closer. */
  boolean isToBeReplaced() {
    return installed == null
        || !installed.comment().equals(wanted.comment())
        || isChangedByHand(installed)
        || installed.grantees().contains("PUBLIC");
  }

  /** One line per difference. */
  List<String> problems() {
    var name = "function " + wanted.name();
    if (installed == null) {
      return List.of(name + " is missing: install the channel again");
    }
    var problems = new ArrayList<String>();
    if (!installed.comment().equals(wanted.comment())) {
      problems.add(
          "%s was made from another definition («%s», not «%s»): install the channel again"
              .formatted(name, installed.comment(), wanted.comment()));
    } else if (isChangedByHand(installed)) {
      problems.add(
          name + " was changed after it was installed: install the channel again to mend it");
    }
    if (!installed.owner().equals(OWNER)) {
      problems.add(
          "%s belongs to %s, with whose rights it runs: ALTER FUNCTION %s() OWNER TO %s"
              .formatted(name, installed.owner(), wanted.name(), OWNER));
    }
    for (var grantee : installed.grantees()) {
      problems.add(
          "%s may be executed by %s, who can forge notifications by it: REVOKE ALL ON FUNCTION %s() FROM %s"
              .formatted(name, grantee, wanted.name(), grantee));
    }
    return problems;
  }

  /** What would change, as lines of a diff. */
  List<String> diff() {
    return installed == null
        ? LineDiff.between(List.of(), wanted.create().lines().toList())
        : LineDiff.between(
            lines(installed.settings(), installed.body(), installed.comment()),
            lines(settings(), wanted.body(), wanted.comment()));
  }

  private boolean isChangedByHand(InstalledFunction installed) {
    return !installed.body().equals(wanted.body())
        || !installed.definer()
        || !FunctionSettings.of(installed.settings()).equals(FunctionSettings.of(settings()));
  }

  private Set<String> settings() {
    return wanted.settings().entrySet().stream()
        .map(setting -> setting.getKey() + "=" + setting.getValue())
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
