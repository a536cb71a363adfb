package org.pgonce;

/** Asks the outside what became of a call. Several may ask at once, so it must only read. */
@FunctionalInterface
public interface GuardProbe<R> {

  /**
   * Asks. What it throws leaves everything as it is.
   *
   * @param state of the call that was begun and not heard of
   */
  GuardAnswer<R> ask(GuardState state) throws Exception;
}
