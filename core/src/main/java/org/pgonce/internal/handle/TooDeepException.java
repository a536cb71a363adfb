package org.pgonce.internal.handle;

/** A notification at the end of a longer chain of handlers than its channel allows. */
public final class TooDeepException extends Exception {

  TooDeepException(int depth, int maxDepth) {
    super(
        "it was published at depth %d, by the handler of a notification that a handler published, and so on, and the channel allows a depth of %d: look for a loop of handlers, and mend it. A redrive keeps the depth: raise maxDepth before, or publish the payload anew"
            .formatted(depth, maxDepth));
  }
}
