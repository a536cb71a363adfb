package org.pgonce.internal.settle;

/**
 * Why a notification became a dead letter; the column {@code reason} of {@code pgonce.dead_letter},
 * which has NOT_STORABLE too, of triggers.
 */
public enum DeadLetterReason {
  ATTEMPTS_USED_UP,
  UNREADABLE,
  REJECTED,
  TOO_DEEP,
  OUTCOME_UNKNOWN
}
