package org.pgonce.testkit;

/** One of the two ways through a {@link FaultProxy}. */
public enum Direction {
  TO_SERVER,
  TO_CLIENT
}
