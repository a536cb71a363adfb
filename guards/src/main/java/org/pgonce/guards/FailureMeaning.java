package org.pgonce.guards;

/** What an exception of a guarded call says of its effect. */
public enum FailureMeaning {
  /** It certainly had none: FAILED, and whoever comes next with the same key may try again. */
  NO_EFFECT,
  /** FAILED, and never tried again by itself. */
  FINAL,
  /** It may have happened: UNKNOWN, until a probe or a person settles it. */
  UNKNOWN
}
