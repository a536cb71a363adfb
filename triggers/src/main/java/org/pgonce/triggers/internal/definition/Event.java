package org.pgonce.triggers.internal.definition;

/** What a trigger fires after. */
public enum Event {
  INSERT("inserted"),
  UPDATE("updated"),
  DELETE("deleted"),
  TRUNCATE("truncated");

  private final String past;

  Event(String past) {
    this.past = past;
  }

  /** As in the default name of a channel. */
  public String past() {
    return past;
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
