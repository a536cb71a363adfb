package org.pgonce.guards;

/** What is known of a guarded call. */
public enum GuardOutcome {
  /** It was begun, and may still run. */
  STARTED,
  /** It returned; its response is stored. */
  SUCCEEDED,
  /** It threw; or someone has said that it did not happen. */
  FAILED,
  /**
   * Nobody knows whether it happened: its process died or was not heard of for the longest time
   * that the call may take, or it threw what leaves that open. Never begun again by itself.
   */
  UNKNOWN
}
