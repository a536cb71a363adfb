package org.pgonce.triggers.internal.definition;

/** What a trigger fires after. */
public enum Event {
  INSERT,
  UPDATE,
  DELETE,
  TRUNCATE;

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
