package org.pgonce.operations.internal.sql;

/** JSON that the database wrote: a payload, a context. */
public record JsonText(String text) {

  @Override
  public String toString() {
    return text;
  }
}
