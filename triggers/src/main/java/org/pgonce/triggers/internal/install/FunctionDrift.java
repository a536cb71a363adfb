package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.internal.catalog.InstalledFunction;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFunction;

/** In what a channel's function differs from its definition. */
final class FunctionDrift {

  static final String OWNER = "pgonce_owner";

  private final Capture capture;
  private final @Nullable InstalledFunction installed;

  FunctionDrift(Capture capture, @Nullable InstalledFunction installed) {
    this.capture = capture;
    this.installed = installed;
  }

  /** Whether creating it again makes it as defined, or at least comes closer. */
  boolean isToBeReplaced() {
    return installed == null
        || !installed.comment().equals(CaptureFunction.comment(capture))
        || isChangedByHand(installed)
        || installed.grantees().contains("PUBLIC");
  }

  /** One line per difference. */
  List<String> problems() {
    var name = "function " + CaptureFunction.name(capture);
    if (installed == null) {
      return List.of(name + " is missing: install the channel again");
    }
    var problems = new ArrayList<String>();
    if (!installed.comment().equals(CaptureFunction.comment(capture))) {
      problems.add(
          "%s was made from another definition («%s», not «%s»): install the channel again"
              .formatted(name, installed.comment(), CaptureFunction.comment(capture)));
    } else if (isChangedByHand(installed)) {
      problems.add(
          name + " was changed after it was installed: install the channel again to mend it");
    }
    if (!installed.owner().equals(OWNER)) {
      problems.add(
          "%s belongs to %s, with whose rights it runs: ALTER FUNCTION %s() OWNER TO %s"
              .formatted(name, installed.owner(), CaptureFunction.name(capture), OWNER));
    }
    for (var grantee : installed.grantees()) {
      problems.add(
          "%s may be executed by %s, who can forge notifications by it: REVOKE ALL ON FUNCTION %s() FROM %s"
              .formatted(name, grantee, CaptureFunction.name(capture), grantee));
    }
    return problems;
  }

  /** What would change, as lines of a diff. */
  List<String> diff() {
    return installed == null
        ? LineDiff.between(List.of(), CaptureFunction.create(capture).lines().toList())
        : LineDiff.between(
            lines(installed.settings(), installed.body(), installed.comment()),
            lines(settings(), CaptureFunction.body(capture), CaptureFunction.comment(capture)));
  }

  private boolean isChangedByHand(InstalledFunction installed) {
    return !installed.body().equals(CaptureFunction.body(capture))
        || !installed.definer()
        || !installed.settings().equals(settings());
  }

  private static Set<String> settings() {
    return CaptureFunction.settings().entrySet().stream()
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
