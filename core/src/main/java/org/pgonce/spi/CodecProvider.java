package org.pgonce.spi;

/**
 * Makes the codec that is used where none is given, see {@link PayloadCodec#standard()}. Found by
 * {@link java.util.ServiceLoader}.
 */
@FunctionalInterface
public interface CodecProvider {

  /**
   * Called once.
   *
   * @throws IllegalStateException if the library that it needs is missing or cannot be used: says
   *     what was found, in which version, and what to do
   */
  PayloadCodec codec();
}
