package org.pgonce.console.internal.site;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.act.Target;
import org.pgonce.console.internal.act.Verb;
import org.pgonce.console.internal.page.Section;
import org.pgonce.console.internal.page.Section.Link;
import org.pgonce.console.internal.page.Section.Links;

/** Buttons for all that fit a target; none where this visitor may do none of it. */
final class AllThatFit {

  private AllThatFit() {}

  /**
   * @param things what they are, on the buttons
   */
  static List<Section> of(Visit visit, Target target, String things, Verb... verbs) {
    var links = new ArrayList<Link>();
    for (var verb : verbs) {
      if (visit.may().contains(verb)) {
        links.add(Link.to("%s %s…".formatted(verb.label(), things), act(visit, verb, target)));
      }
    }
    return links.isEmpty() ? List.of() : List.of(Links.actions("bulk", "Bulk actions", links));
  }

  static String act(Visit visit, Verb verb, Target target) {
    var parameters = new LinkedHashMap<String, @Nullable String>();
    parameters.put("do", verb.word());
    parameters.putAll(target.fields());
    parameters.put("all", "yes");
    return Paths.with(visit.paths().page("act"), parameters);
  }
}
