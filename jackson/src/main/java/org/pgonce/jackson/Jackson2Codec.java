package org.pgonce.jackson;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.StreamWriteConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.AnnotationIntrospector;
import com.fasterxml.jackson.databind.BeanDescription;
import com.fasterxml.jackson.databind.DeserializationConfig;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.Module;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.deser.BeanDeserializerBase;
import com.fasterxml.jackson.databind.deser.BeanDeserializerModifier;
import com.fasterxml.jackson.databind.deser.DefaultDeserializationContext;
import com.fasterxml.jackson.databind.deser.std.DelegatingDeserializer;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.exc.InvalidDefinitionException;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.introspect.AnnotatedMember;
import com.fasterxml.jackson.databind.introspect.AnnotatedParameter;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import java.io.IOException;
import java.lang.reflect.Array;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.pgonce.PayloadRules.MissingFields;
import org.pgonce.PayloadRules.UnknownFields;
import org.pgonce.spi.PayloadCodec;

/**
 * The standard codec where Jackson 3 cannot be used: Jackson 2, from 2.18 on, by the rules of
 * {@link JacksonCodec}: also for numbers, of which a {@code double} and a {@code float} are not
 * exact, and for missing fields, which are looked for in a record, or in what has a
 * {@code @JsonCreator}. Payloads with dates need the module jackson-datatype-jsr310.
 */
public final class Jackson2Codec implements PayloadCodec {

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
  public Jackson2Codec() {
    this(strict().build());
  }

  /** A mapper of your own; its settings are taken as they are. Start from {@link #strict()}. */
  public Jackson2Codec(JsonMapper mapper) {
    this.mapper = Objects.requireNonNull(mapper, "mapper");
  }

  /**
   * A builder with the standard settings, to add modules to. Where they are on the class path it
   * has Jackson's own modules for Kotlin and for what Jackson 3 has built in: dates, Optional,
   * names of parameters. It has no other.
   *
   * @throws IllegalStateException if one of them is there and cannot be used
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
            .maxDocumentLength(JacksonCodec.MAX_DOCUMENT_LENGTH)
            .maxNestingDepth(500)
            .maxStringLength(JacksonCodec.MAX_DOCUMENT_LENGTH)
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
            DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES,
            DeserializationFeature.FAIL_ON_NUMBERS_FOR_ENUMS,
            DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
        .disable(
            DeserializationFeature.ACCEPT_FLOAT_AS_INT,
            DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES,
            DeserializationFeature.ADJUST_DATES_TO_CONTEXT_TIME_ZONE)
        .disable(
            SerializationFeature.WRITE_DATES_AS_TIMESTAMPS,
            SerializationFeature.WRITE_DURATIONS_AS_TIMESTAMPS)
        .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
        // A blank one would be null, though an empty one is refused by that.
        .withCoercionConfigDefaults(config -> config.setAcceptBlankAsEmpty(false))
        .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
        // What Jackson 3 does by default, so that both read and write the same.
        .enable(DeserializationFeature.READ_ENUMS_USING_TO_STRING)
        .enable(
            SerializationFeature.WRITE_DATES_WITH_ZONE_ID,
            SerializationFeature.WRITE_ENUMS_USING_TO_STRING)
        .disable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
        .enable(
            MapperFeature.SORT_PROPERTIES_ALPHABETICALLY,
            MapperFeature.SORT_CREATOR_PROPERTIES_BY_DECLARATION_ORDER)
        .disable(
            MapperFeature.ALLOW_FINAL_FIELDS_AS_MUTATORS,
            MapperFeature.DEFAULT_VIEW_INCLUSION,
            MapperFeature.USE_GETTERS_AS_SETTERS)
        .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
        .annotationIntrospector(new PrimitivesAreRequired())
        .addModules(
            KnownModules.there(
                KnownModules.JACKSON_2,
                Module.class,
                module -> JsonMapper.builder().addModule(module).build()))
        .addModule(new SimpleModule("pgonce").addDeserializer(byte[].class, new Bytes()));
  }

  /**
   * As the channel has it. What is the default there is left as the mapper has it; a mapper of your
   * own that is not made from {@link #strict()} decides itself what a missing primitive is.
   */
  @Override
  public Jackson2Codec with(UnknownFields unknown, MissingFields missing) {
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
      var strict = mapper.getDeserializationConfig().getAnnotationIntrospector();
      builder.annotationIntrospector(
          strict.allIntrospectors().stream()
              .map(PrimitivesAreRequired::no)
              .reduce(AnnotationIntrospector::pair)
              .orElse(strict));
      builder.addModule(
          new SimpleModule("pgonce zero").setDeserializerModifier(new AbsentIsZero()));
    }
    return new Jackson2Codec(builder.build());
  }

  @Override
  public <T> String encode(T payload, Class<T> type) {
    Objects.requireNonNull(payload, "payload");
    try {
      return mapper.writerFor(type).writeValueAsString(payload);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(
          "the payload of type %s cannot be written as JSON%s: %s"
              .formatted(
                  type.getName(),
                  where(e),
                  isAtABound(e)
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
    } catch (JsonProcessingException e) {
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
    } catch (JsonProcessingException | RuntimeException | StackOverflowError itsOwnAffair) {
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
    if (values == 0
        || !(mapper.getDeserializationContext() instanceof DefaultDeserializationContext context)) {
      return false;
    }
    try {
      var reads =
          context
              .createDummyInstance(mapper.getDeserializationConfig())
              .findRootValueDeserializer(mapper.constructType(type));
      return reads instanceof BeanDeserializerBase bean
          && !bean.getValueInstantiator().canCreateFromObjectWith()
          && bean.getPropertyCount() < values;
    } catch (JsonMappingException itsOwnAffair) {
      return false;
    }
  }

  private static boolean isAtABound(JsonProcessingException e) {
    // Below a field, databind has wrapped it.
    return e instanceof StreamConstraintsException
        || e.getCause() instanceof StreamConstraintsException;
  }

  /** What is wrong without Jackson's own message, which quotes values. */
  private String what(JsonProcessingException e, String json) {
    if (isAtABound(e)) {
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
  private @Nullable String missing(JsonProcessingException e, String json) {
    if (!(e instanceof JsonMappingException mapping)) {
      return null;
    }
    try {
      JsonNode node = mapper.readTree(json);
      for (var step : mapping.getPath()) {
        var name = step.getFieldName();
        if (name != null && node.isObject() && !node.has(name)) {
          return DecodingAdvice.fields(node.properties().stream().map(Map.Entry::getKey).toList());
        }
        node = name == null ? node.path(step.getIndex()) : node.path(name);
      }
      return null;
    } catch (JsonProcessingException itIsNoJson) {
      return null; // as the first failure says
    }
  }

  private static String where(JsonProcessingException e) {
    var path = new StringBuilder();
    if (e instanceof JsonMappingException mapping) {
      for (var step : mapping.getPath()) {
        path.append(
            step.getFieldName() == null ? "[" + step.getIndex() + "]" : "." + step.getFieldName());
      }
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
    public @Nullable Boolean hasRequiredMarker(AnnotatedMember member) {
      var marked = super.hasRequiredMarker(member);
      if (marked == null && member instanceof AnnotatedParameter) {
        return member.getRawType().isPrimitive() ? Boolean.TRUE : null;
      }
      return marked;
    }
  }

  /** Jackson 2 takes a missing primitive for null, which is an error; Jackson 3 for zero. */
  private static final class AbsentIsZero extends BeanDeserializerModifier {

    private static final long serialVersionUID = 1L;

    @Override
    public JsonDeserializer<?> modifyDeserializer(
        DeserializationConfig config, BeanDescription description, JsonDeserializer<?> reads) {
      var type = description.getBeanClass();
      return type.isPrimitive() ? new OfPrimitive(reads, type) : reads;
    }

    private static final class OfPrimitive extends DelegatingDeserializer {

      private static final long serialVersionUID = 1L;

      private final Class<?> type;

      OfPrimitive(JsonDeserializer<?> reads, Class<?> type) {
        super(reads);
        this.type = type;
      }

      @Override
      protected JsonDeserializer<?> newDelegatingInstance(JsonDeserializer<?> reads) {
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

    private static final long serialVersionUID = 1L;

    Bytes() {
      super(byte[].class);
    }

    @Override
    public byte[] deserialize(JsonParser parser, DeserializationContext context)
        throws IOException {
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
