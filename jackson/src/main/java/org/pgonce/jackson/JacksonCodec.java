package org.pgonce.jackson;

import com.fasterxml.jackson.annotation.JsonFormat;
import java.lang.reflect.Array;
import java.time.Month;
import java.time.Year;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.pgonce.PayloadRules;
import org.pgonce.PayloadRules.MissingFields;
import org.pgonce.PayloadRules.UnknownFields;
import org.pgonce.spi.PayloadCodec;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.StreamWriteConstraints;
import tools.jackson.core.exc.StreamConstraintsException;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.AnnotationIntrospector;
import tools.jackson.databind.BeanDescription;
import tools.jackson.databind.DeserializationConfig;
import tools.jackson.databind.DeserializationContext;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JacksonModule;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.ObjectReader;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.ValueDeserializer;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.cfg.DateTimeFeature;
import tools.jackson.databind.cfg.EnumFeature;
import tools.jackson.databind.cfg.JsonNodeFeature;
import tools.jackson.databind.cfg.MapperConfig;
import tools.jackson.databind.deser.ValueDeserializerModifier;
import tools.jackson.databind.deser.bean.BeanDeserializerBase;
import tools.jackson.databind.deser.std.DelegatingDeserializer;
import tools.jackson.databind.deser.std.StdDeserializer;
import tools.jackson.databind.exc.InvalidDefinitionException;
import tools.jackson.databind.exc.MismatchedInputException;
import tools.jackson.databind.introspect.AnnotatedMember;
import tools.jackson.databind.introspect.AnnotatedParameter;
import tools.jackson.databind.introspect.JacksonAnnotationIntrospector;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.module.SimpleModule;
import tools.jackson.databind.ser.std.ToStringSerializer;

/**
 * The standard codec: Jackson 3, strict. Numbers are exact; what does not fit is an error, never
 * rounded, coerced or cut. A {@code double} and a {@code float} are not exact: they get the nearest
 * number that they have, and beyond their range infinity. Take a BigDecimal where that matters.
 *
 * <p>Unknown fields are ignored. A missing field of a record, or of what has a
 * {@code @JsonCreator}, is null, and a missing field of a primitive is an error, unless the channel
 * has other {@link PayloadRules}. In a class with setters a missing field leaves what its
 * constructor has set, whatever the rules say. A null field of a primitive is an error in both.
 *
 * <p>Properties are in snake_case, as columns are. A payload cannot name classes. {@link
 * Jackson2Codec} does the same by Jackson 2.
 */
public final class JacksonCodec implements PayloadCodec {

  /**
   * Longest document that is read, in characters: 100 Mi. Of stored payloads, those above as many
   * bytes are not even fetched, whatever the codec, and become dead letters.
   */
  public static final int MAX_DOCUMENT_LENGTH = 100 * 1024 * 1024;

  private final JsonMapper mapper;

  // Looking a reader up costs several times what reading a small record does.
  private final ClassValue<ObjectReader> readers =
      new ClassValue<>() {
        @Override
        protected ObjectReader computeValue(Class<?> type) {
          return mapper.readerFor(type);
        }
      };

  /** The standard settings. */
  public JacksonCodec() {
    this(strict().build());
  }

  /** A mapper of your own; its settings are taken as they are. Start from {@link #strict()}. */
  public JacksonCodec(JsonMapper mapper) {
    this.mapper = Objects.requireNonNull(mapper, "mapper");
  }

  /**
   * A builder with the standard settings, to add modules to. It has Jackson's own module for Kotlin
   * where that is on the class path, and no other.
   *
   * @throws IllegalStateException if that module is there and cannot be used
   */
  public static JsonMapper.Builder strict() {
    return strict(bounds -> {});
  }

  /**
   * The same with other bounds on what is read. How deep it reads is how deep it writes.
   *
   * @param change gets the standard bounds, to change those that must differ: {@code bounds ->
   *     bounds.maxNestingDepth(600)}. Each level takes stack of the thread that reads
   */
  public static JsonMapper.Builder strict(Consumer<StreamReadConstraints.Builder> change) {
    var bounds =
        StreamReadConstraints.builder()
            .maxDocumentLength(MAX_DOCUMENT_LENGTH)
            .maxStringLength(MAX_DOCUMENT_LENGTH)
            // A numeric has up to 131,072 digits before the point, and 16,383 behind it.
            .maxNumberLength(150_000);
    change.accept(bounds);
    var read = bounds.build();
    // What cannot be read is not written.
    var write = StreamWriteConstraints.builder().maxNestingDepth(read.getMaxNestingDepth()).build();
    var builder =
        JsonMapper.builder(
            JsonFactory.builder()
                .streamReadConstraints(read)
                .streamWriteConstraints(write)
                .build());
    for (var type : EmptyText.IS_NONE) {
      builder.withCoercionConfig(
          type, config -> config.setCoercion(CoercionInputShape.EmptyString, CoercionAction.Fail));
    }
    return builder
        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
        .disable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
        .enable(
            DeserializationFeature.FAIL_ON_TRAILING_TOKENS,
            DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
        .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
        .disable(
            DeserializationFeature.ACCEPT_FLOAT_AS_INT,
            DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
        .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
        // A blank one would be null, though an empty one is refused by that.
        .withCoercionConfigDefaults(config -> config.setAcceptBlankAsEmpty(false))
        .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
        .enable(EnumFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
        .enable(DateTimeFeature.WRITE_DATES_WITH_ZONE_ID)
        .disable(
            DateTimeFeature.ADJUST_DATES_TO_CONTEXT_TIME_ZONE,
            DateTimeFeature.WRITE_DATES_AS_TIMESTAMPS)
        .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
        .annotationIntrospector(new PrimitivesAreRequired())
        .addModules(
            KnownModules.there(
                KnownModules.JACKSON_3,
                JacksonModule.class,
                module -> JsonMapper.builder().addModule(module).build()))
        // Texts, as Jackson 2 writes them: it would read the number of a month as the one behind
        // it.
        .withConfigOverride(
            Year.class, year -> year.setFormat(JsonFormat.Value.forShape(JsonFormat.Shape.STRING)))
        .addModule(
            new SimpleModule("pgonce")
                .addSerializer(Month.class, new ToStringSerializer(Month.class))
                .addDeserializer(byte[].class, new Bytes()));
  }

  /**
   * As the channel has it. What is the default there is left as the mapper has it; a mapper of your
   * own that is not made from {@link #strict()} decides itself what a missing primitive is.
   */
  @Override
  public JacksonCodec with(UnknownFields unknown, MissingFields missing) {
    Objects.requireNonNull(unknown, "unknown");
    Objects.requireNonNull(missing, "missing");
    if (unknown == UnknownFields.IGNORE && missing == MissingFields.NULL) {
      return this;
    }
    var builder = mapper.rebuild();
    if (unknown == UnknownFields.FAIL) {
      builder.enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
    }
    if (missing == MissingFields.FAIL) {
      builder.enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES);
    }
    if (missing == MissingFields.NULL_OR_ZERO) {
      var strict = mapper.deserializationConfig().getAnnotationIntrospector();
      builder.annotationIntrospector(
          strict.allIntrospectors().stream()
              .map(PrimitivesAreRequired::no)
              .reduce(AnnotationIntrospector::pair)
              .orElse(strict));
      builder.addModule(
          new SimpleModule("pgonce zero").setDeserializerModifier(new AbsentIsZero()));
    }
    return new JacksonCodec(builder.build());
  }

  @Override
  public <T> String encode(T payload, Class<T> type) {
    Objects.requireNonNull(payload, "payload");
    try {
      return mapper.writerFor(type).writeValueAsString(payload);
    } catch (JacksonException e) {
      throw new IllegalArgumentException(
          "the payload of type %s cannot be written as JSON%s: %s"
              .formatted(
                  type.getName(),
                  where(e),
                  e instanceof StreamConstraintsException
                      ? DecodingAdvice.ofBound(e.getOriginalMessage(), getClass())
                      : e.getClass().getSimpleName()),
          e);
    }
  }

  @Override
  public <T> T decode(String json, Class<T> type) throws UnreadablePayloadException {
    T payload;
    try {
      payload = readers.get(type).readValue(json);
    } catch (JacksonException e) {
      throw new UnreadablePayloadException(
          "not readable as " + type.getName() + where(e) + ": " + what(e, json));
    }
    if (payload == null) {
      throw new UnreadablePayloadException("not readable as " + type.getName() + ": it is null");
    }
    if (payload instanceof JsonNode tree && tree.isMissingNode()) {
      throw new UnreadablePayloadException("not readable as " + type.getName() + ": it is empty");
    }
    return payload;
  }

  /**
   * Refuses what Jackson has no way to make: an interface or an abstract class without type
   * information, a class without a constructor that it can call. It reads an empty object, which
   * any other type may refuse. Refuses a data class of Kotlin, too, whose values it would lose.
   */
  @Override
  public void requireDecodable(Class<?> type) {
    try {
      readers.get(type).readValue("{}");
    } catch (InvalidDefinitionException e) {
      throw notDecodable(type, e);
    } catch (RuntimeException | StackOverflowError itsOwnAffair) {
      // It can be made, though not from this.
    }
    if (losesValues(type)) {
      throw notDecodable(type, null);
    }
  }

  private static IllegalArgumentException notDecodable(Class<?> type, @Nullable Exception cause) {
    return new IllegalArgumentException(
        "no payload can be decoded as %s: %s"
            .formatted(type.getName(), DecodingAdvice.ofType(type)),
        cause);
  }

  /**
   * Whether Jackson makes a data class by its constructor without parameters, which is there if all
   * of them have defaults, and has no way to set the values behind that: a {@code val} has no
   * setter. Each payload would be read as the defaults, and nothing would tell.
   */
  private boolean losesValues(Class<?> type) {
    var values = KotlinClasses.components(type);
    if (values == 0) {
      return false;
    }
    try {
      var reads =
          mapper._deserializationContext().findRootValueDeserializer(mapper.constructType(type));
      return reads instanceof BeanDeserializerBase bean
          && !bean.getValueInstantiator().canCreateFromObjectWith()
          && bean.getPropertyCount() < values;
    } catch (JacksonException itsOwnAffair) {
      return false;
    }
  }

  /** What is wrong without Jackson's own message, which quotes values. */
  private String what(JacksonException e, String json) {
    if (e instanceof StreamConstraintsException) {
      return DecodingAdvice.ofBound(e.getOriginalMessage(), getClass());
    }
    var expected = e instanceof MismatchedInputException mismatch ? mismatch.getTargetType() : null;
    var missing = missing(e, json);
    if (missing != null) {
      return "the field is missing%s; there are %s"
          .formatted(expected == null ? "" : " (expected " + expected.getName() + ")", missing);
    }
    return e.getClass().getSimpleName()
        + (expected == null ? "" : ", expected " + expected.getName());
  }

  /** The fields that are there in place of the one that is not; null if that is there. */
  private @Nullable String missing(JacksonException e, String json) {
    try {
      JsonNode node = mapper.readTree(json);
      for (var step : e.getPath()) {
        var name = step.getPropertyName();
        if (name != null && node.isObject() && !node.has(name)) {
          return DecodingAdvice.fields(node.propertyNames());
        }
        node = name == null ? node.path(step.getIndex()) : node.path(name);
      }
      return null;
    } catch (JacksonException itIsNoJson) {
      return null; // as the first failure says
    }
  }

  private static String where(JacksonException e) {
    var path = new StringBuilder();
    for (var step : e.getPath()) {
      path.append(
          step.getPropertyName() == null
              ? "[" + step.getIndex() + "]"
              : "." + step.getPropertyName());
    }
    // A path says more, and failures of one cause have it in common: each has its own character.
    var location = e.getLocation();
    return !path.isEmpty()
        ? DecodingAdvice.at(path.toString())
        : location == null ? "" : " (character " + location.getCharOffset() + ")";
  }

  /**
   * A missing field of a primitive would silently become 0 or false: FAIL_ON_NULL_FOR_PRIMITIVES
   * sees only null.
   */
  private static final class PrimitivesAreRequired extends JacksonAnnotationIntrospector {

    private static final long serialVersionUID = 1L;

    static AnnotationIntrospector no(AnnotationIntrospector one) {
      return one instanceof PrimitivesAreRequired ? new JacksonAnnotationIntrospector() : one;
    }

    @Override
    public @Nullable Boolean hasRequiredMarker(MapperConfig<?> config, AnnotatedMember member) {
      var marked = super.hasRequiredMarker(config, member);
      if (marked == null && member instanceof AnnotatedParameter) {
        return member.getRawType().isPrimitive() ? Boolean.TRUE : null;
      }
      return marked;
    }
  }

  /** Before 3.2 Jackson takes a missing primitive for null, which is an error. */
  private static final class AbsentIsZero extends ValueDeserializerModifier {

    private static final long serialVersionUID = 1L;

    @Override
    public ValueDeserializer<?> modifyDeserializer(
        DeserializationConfig config,
        BeanDescription.Supplier description,
        ValueDeserializer<?> reads) {
      var type = description.getBeanClass();
      return type.isPrimitive() ? new OfPrimitive(reads, type) : reads;
    }

    private static final class OfPrimitive extends DelegatingDeserializer {

      private final Class<?> type;

      OfPrimitive(ValueDeserializer<?> reads, Class<?> type) {
        super(reads);
        this.type = type;
      }

      @Override
      protected ValueDeserializer<?> newDelegatingInstance(ValueDeserializer<?> reads) {
        return new OfPrimitive(reads, type);
      }

      @Override
      public Object getAbsentValue(DeserializationContext context) {
        return Array.get(Array.newInstance(type, 1), 0);
      }
    }
  }

  /**
   * bytea arrives as PostgreSQL prints it, hexadecimal behind a backslash and an x; what Java wrote
   * is Base64.
   */
  private static final class Bytes extends StdDeserializer<byte[]> {

    Bytes() {
      super(byte[].class);
    }

    @Override
    public byte[] deserialize(JsonParser parser, DeserializationContext context) {
      var text = parser.getValueAsString();
      if (text == null) {
        return (byte[]) context.handleUnexpectedToken(byte[].class, parser);
      }
      try {
        return text.startsWith("\\x")
            ? HexFormat.of().parseHex(text, 2, text.length())
            : Base64.getDecoder().decode(text);
      } catch (IllegalArgumentException e) {
        throw MismatchedInputException.from(parser, byte[].class, "neither hexadecimal nor Base64");
      }
    }
  }
}
