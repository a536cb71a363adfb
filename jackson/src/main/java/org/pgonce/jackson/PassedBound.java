package org.pgonce.jackson;

import org.pgonce.spi.PayloadCodec;

/** What to do about JSON that is longer or deeper than Jackson may read. */
final class PassedBound {

  private PassedBound() {}

  /**
   * @param message Jackson's: it has lengths and bounds, and quotes nothing
   */
  static String inWords(String message, Class<? extends PayloadCodec> codec) {
    return "%s. Store less in it; or raise the bound by StreamReadConstraints of the JsonFactory of a mapper of your own, and give new %s(mapper) to PgOnceBuilder.codec"
        .formatted(message, codec.getSimpleName());
  }
}
