package org.pgonce.jackson;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.ServiceConfigurationError;
import java.util.function.Supplier;
import org.pgonce.spi.CodecProvider;
import org.pgonce.spi.PayloadCodec;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes a {@link JacksonCodec}, or a {@link Jackson2Codec} where Jackson 3 is not there, or does
 * not go with the jackson-annotations that are there.
 */
public final class JacksonCodecs implements CodecProvider {

  private static final Logger LOG = LoggerFactory.getLogger(JacksonCodecs.class);

  /** Where a class is missing, many a codec is made and then fails at its first payload. */
  record Trial(long id, String text) {}

  /** For ServiceLoader. */
  public JacksonCodecs() {}

  @Override
  public PayloadCodec codec() {
    try {
      return tried(JacksonCodec::new);
    } catch (LinkageError | ServiceConfigurationError | RuntimeException unusable) {
      var three = why("tools.jackson.databind.cfg.PackageVersion", unusable);
      try {
        var codec = tried(Jackson2Codec::new);
        LOG.info(
            "pgonce: payloads are read and written by Jackson {}, since Jackson 3 cannot be used: {}",
            version("com.fasterxml.jackson.databind.cfg.PackageVersion"),
            three);
        return codec;
      } catch (LinkageError | ServiceConfigurationError | RuntimeException none) {
        none.addSuppressed(unusable);
        throw new IllegalStateException(
            "pgonce finds no Jackson that it can use. Jackson 3: %s. Jackson 2, from 2.18 on: %s. The jackson-annotations are of version %s, and each Jackson needs those of its own release or later. Bring them together, or give a codec of your own (PgOnceBuilder.codec, Publisher.with)"
                .formatted(
                    three,
                    why("com.fasterxml.jackson.databind.cfg.PackageVersion", none),
                    annotations()),
            none);
      }
    }
  }

  private static PayloadCodec tried(Supplier<PayloadCodec> made) {
    var codec = made.get();
    var trial = new Trial(1, "a");
    try {
      if (codec.decode(codec.encode(trial, Trial.class), Trial.class).equals(trial)) {
        return codec;
      }
      throw new IllegalStateException("it does not read what it writes");
    } catch (PayloadCodec.UnreadablePayloadException e) {
      throw new IllegalStateException("it does not read what it writes", e);
    }
  }

  private static String why(String packageVersion, Throwable unusable) {
    var version = version(packageVersion);
    return version.isEmpty()
        ? "it is not on the class path"
        : "version %s fails with the jackson-annotations %s (%s)"
            .formatted(version, annotations(), unusable);
  }

  /** Empty if it is not there. */
  private static String version(String packageVersion) {
    try {
      var type = Class.forName(packageVersion, true, JacksonCodecs.class.getClassLoader());
      return String.valueOf(type.getField("VERSION").get(null));
    } catch (ReflectiveOperationException | LinkageError e) {
      return "";
    }
  }

  private static String annotations() {
    try {
      var version = JsonProperty.class.getPackage().getImplementationVersion();
      return version == null ? "of an unknown version" : version;
    } catch (LinkageError e) {
      return "(there are none)";
    }
  }
}
