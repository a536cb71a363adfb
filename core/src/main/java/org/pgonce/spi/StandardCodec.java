package org.pgonce.spi;

import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Finds the standard codec when it is first asked for: whoever gives a codec needs none. */
final class StandardCodec {

  private static final String GIVE = "give one of your own (PgOnceBuilder.codec, Publisher.with)";

  private static @Nullable PayloadCodec found;

  private StandardCodec() {}

  /** Tried anew after a failure. */
  static synchronized PayloadCodec get() {
    var codec = found == null ? find() : found;
    found = codec;
    return codec;
  }

  private static PayloadCodec find() {
    var providers = providers();
    if (providers.isEmpty()) {
      throw new IllegalStateException(
          "pgonce has no codec for payloads: add the artifact pgonce-jackson, which the artifact pgonce brings, or "
              + GIVE);
    }
    if (providers.size() > 1) {
      throw new IllegalStateException(
          "pgonce finds several codecs for payloads, of which each may write another format: %s. Leave one on the class path, or %s"
              .formatted(
                  providers.stream()
                      .map(one -> one.getClass().getName())
                      .collect(Collectors.joining(", ")),
                  GIVE));
    }
    return providers.get(0).codec();
  }

  private static List<CodecProvider> providers() {
    try {
      // By pgonce's own loader, as the context class loader is any caller's.
      return ServiceLoader.load(CodecProvider.class, CodecProvider.class.getClassLoader()).stream()
          .map(ServiceLoader.Provider::get)
          .toList();
    } catch (ServiceConfigurationError e) {
      throw new IllegalStateException(
          "a codec for payloads that is on the class path cannot be loaded: %s. Mend or remove it, or %s"
              .formatted(e.getMessage(), GIVE),
          e);
    }
  }
}
