package org.pgonce.triggers.internal.definition;

/** What a trigger fires after. */
public enum Event {
  INSERT
}
