package org.pgonce.operations.internal.doctor;

/**
 * Something that is wrong, or may become so.
 *
 * @param name stands: scripts may look for it
 * @param what was found, and where
 * @param why it matters
 * @param advice what to do
 */
public record Finding(Severity severity, String name, String what, String why, String advice) {

  public enum Severity {
    /** Something does not work, or can be lost. */
    ERROR,
    /** It costs much, or will not work when something else happens. */
    WARNING,
    /** To know. Does not count for the exit status. */
    INFO
  }
}
