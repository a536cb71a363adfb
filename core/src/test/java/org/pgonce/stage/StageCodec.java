package org.pgonce.stage;

import org.pgonce.spi.CodecProvider;
import org.pgonce.spi.PayloadCodec;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.json.JsonMapper;

/** The standard codec of these tests, since that of the product is a module on top of this one. */
public final class StageCodec implements PayloadCodec {

  /** Found by ServiceLoader. */
  public static final class Provider implements CodecProvider {
    @Override
    public PayloadCodec codec() {
      return new StageCodec();
    }
  }

  private final JsonMapper mapper =
      JsonMapper.builder()
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .build();

  @Override
  public <T> String encode(T payload, Class<T> type) {
    return mapper.writerFor(type).writeValueAsString(payload);
  }

  @Override
  public <T> T decode(String json, Class<T> type) throws UnreadablePayloadException {
    try {
      T payload = mapper.readerFor(type).readValue(json);
      if (payload != null) {
        return payload;
      }
    } catch (JacksonException e) {
      throw new UnreadablePayloadException(
          "not readable as " + type.getName() + ": " + e.getClass().getSimpleName());
    }
    throw new UnreadablePayloadException("not readable as " + type.getName() + ": it is null");
  }
}
