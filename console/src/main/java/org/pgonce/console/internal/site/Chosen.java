package org.pgonce.console.internal.site;

import java.util.ArrayList;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.act.Verb;
import org.pgonce.console.internal.page.Section.Choices;
import org.pgonce.console.internal.page.Section.Field;

/** Buttons for chosen rows of a table; null where this visitor may do none of it. */
final class Chosen {

  private Chosen() {}

  static @Nullable Choices of(
      Visit visit, String channel, @Nullable String subscription, Verb... verbs) {
    var buttons = new ArrayList<Field>();
    for (var verb : verbs) {
      if (visit.may().contains(verb)) {
        buttons.add(new Field("do", verb.label() + "…", verb.word(), null));
      }
    }
    var fixed = new ArrayList<Field>();
    fixed.add(new Field("channel", "", channel, null));
    if (subscription != null) {
      fixed.add(new Field("subscription", "", subscription, null));
    }
    return buttons.isEmpty() ? null : new Choices(visit.paths().page("act"), fixed, buttons);
  }
}
