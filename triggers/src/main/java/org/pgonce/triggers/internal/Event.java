package org.pgonce.triggers.internal;

/** What a trigger fires after. */
public enum Event {
  INSERT
}
