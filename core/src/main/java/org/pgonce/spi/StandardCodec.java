package org.pgonce.spi;

import java.util.ServiceLoader;

/** Finds the standard codec when it is first asked for: whoever gives a codec needs none. */
final class StandardCodec {

  private static final ClassValue<PayloadCodec> FOUND =
      new ClassValue<>() {
        @Override
        protected PayloadCodec computeValue(Class<?> type) {
          return find();
        }
      };

  private StandardCodec() {}

  /** Tried anew after a failure. */
  static PayloadCodec get() {
    return FOUND.get(StandardCodec.class);
  }

  private static PayloadCodec find() {
    // By pgonce's own loader, as the context class loader is any caller's.
    return ServiceLoader.load(CodecProvider.class, CodecProvider.class.getClassLoader())
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "pgonce has no codec for payloads: add the artifact pgonce-jackson, which the artifact pgonce brings, or give one of your own (PgOnceBuilder.codec, Publisher.with)"))
        .codec();
  }
}
