package org.pgonce.jackson;

import org.pgonce.spi.PayloadCodec;

/** What to do about JSON that is longer or deeper than Jackson may read. */
final class PassedBound {

  private PassedBound() {}

  /**
   * @param message Jackson's: it has lengths and bounds, and quotes nothing
   */
  static String inWords(String message, Class<? extends PayloadCodec> codec) {
    return "%1$s. Store less in it; or raise the bound: give new %2$s(%2$s.strict(bounds -> ...).build()) to PgOnceBuilder.codec, where bounds are Jackson's StreamReadConstraints"
        .formatted(message, codec.getSimpleName());
  }
}
