package org.pgonce.benchmarks.cpu;

import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.TriggerChannel;
import org.pgonce.triggers.TriggerChannelBuilder;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.Unstorable;

/** What is compared: each has a table of its own. */
public enum Kind {
  NO_TRIGGER("no trigger"),
  BY_HAND("by hand"),
  PLAIN("pgonce"),
  ROW("pgonce, per row"),
  CHANGES("pgonce, all changes"),
  ROW_CHANGES("pgonce, all changes, per row"),
  CONDITION("pgonce, condition"),
  DEAD_LETTER("pgonce, dead letters"),
  KEYED("pgonce, delivery key");

  record Item(long id, String name) {}

  private final String label;

  Kind(String label) {
    this.label = label;
  }

  public String label() {
    return label;
  }

  String table() {
    return "t_" + key();
  }

  /** In the line of JSON. */
  public String key() {
    return name().toLowerCase(Locale.ROOT);
  }

  @Nullable TriggerChannel<?> channel() {
    var inserted = TriggerChannel.on(table(), Item.class).afterInsert();
    var changes =
        TriggerChannel.changesOf(table(), Item.class).afterInsert().afterUpdate().afterDelete();
    TriggerChannelBuilder<?> builder =
        switch (this) {
          case NO_TRIGGER, BY_HAND -> null;
          case PLAIN -> inserted;
          case ROW -> inserted.form(TriggerForm.ROW);
          case CHANGES -> changes;
          case ROW_CHANGES -> changes.form(TriggerForm.ROW);
          case CONDITION -> inserted.when("new.id <> 0");
          case DEAD_LETTER -> inserted.unstorable(Unstorable.DEAD_LETTER);
          case KEYED -> inserted.deliveryKey("id");
        };
    return builder == null ? null : builder.build();
  }
}
