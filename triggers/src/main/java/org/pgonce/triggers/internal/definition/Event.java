package org.pgonce.triggers.internal.definition;

/** What a trigger fires after. */
public enum Event {
  INSERT(4),
  UPDATE(16),
  DELETE(8),
  TRUNCATE(32);

  private final int triggerType;

  Event(int triggerType) {
    this.triggerType = triggerType;
  }

  /** Its bit in tgtype of pg_trigger. */
  public int triggerType() {
    return triggerType;
  }

  boolean hasNew() {
    return this == INSERT || this == UPDATE;
  }

  boolean hasOld() {
    return this == UPDATE || this == DELETE;
  }

  /** The row that it is about, by the name that a trigger has for it. */
  String row() {
    return hasNew() ? "new" : "old";
  }
}
