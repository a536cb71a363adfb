package org.pgonce.jackson;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.function.Supplier;
import org.pgonce.spi.CodecProvider;
import org.pgonce.spi.PayloadCodec;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes a {@link JacksonCodec}, or a {@link Jackson2Codec} where classes of Jackson 3 are missing:
 * it is not there, or does not go with the jackson-annotations that are. The log says which is
 * taken.
 */
public final class JacksonCodecs implements CodecProvider {

  private static final Logger LOG = LoggerFactory.getLogger(JacksonCodecs.class);

  private static final String VERSION_3 = "tools.jackson.databind.cfg.PackageVersion";
  private static final String VERSION_2 = "com.fasterxml.jackson.databind.cfg.PackageVersion";

  /** Where a class is missing, many a codec is made and then fails at its first payload. */
  record Trial(long id, String text) {}

  /** For ServiceLoader. */
  public JacksonCodecs() {}

  @Override
  public PayloadCodec codec() {
    // No references of constructors, which would be linked here: their classes may be missing.
    return chosen(() -> new JacksonCodec(), () -> new Jackson2Codec());
  }

  /** Only what is missing leads to Jackson 2: whatever else fails is to be mended. */
  static PayloadCodec chosen(Supplier<PayloadCodec> three, Supplier<PayloadCodec> two) {
    try {
      var codec = tried(three, "3");
      LOG.info("pgonce: payloads are read and written by Jackson {}", version(VERSION_3));
      return codec;
    } catch (LinkageError unusable) {
      var why = why(VERSION_3, unusable);
      try {
        var codec = tried(two, "2");
        LOG.info(
            "pgonce: payloads are read and written by Jackson {}, since Jackson 3 cannot be used: {}",
            version(VERSION_2),
            why);
        return codec;
      } catch (LinkageError none) {
        none.addSuppressed(unusable);
        throw new IllegalStateException(
            "pgonce finds no Jackson that it can use. Jackson 3: %s. Jackson 2, from 2.18 on: %s. The jackson-annotations are of version %s, and each Jackson needs those of its own release or later. Bring them together, or give a codec of your own (PgOnceBuilder.codec, Publisher.with)"
                .formatted(why, why(VERSION_2, none), annotations()),
            none);
      }
    }
  }

  private static PayloadCodec tried(Supplier<PayloadCodec> made, String jackson) {
    var trial = new Trial(1, "a");
    try {
      var codec = made.get();
      if (codec.decode(codec.encode(trial, Trial.class), Trial.class).equals(trial)) {
        return codec;
      }
      throw new IllegalStateException("it does not read what it writes");
    } catch (PayloadCodec.UnreadablePayloadException | RuntimeException e) {
      throw new IllegalStateException(
          "pgonce cannot use the Jackson %s that is on the class path: %s. Mend that, or give a codec of your own (PgOnceBuilder.codec, Publisher.with)"
              .formatted(jackson, e.getMessage()),
          e);
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
