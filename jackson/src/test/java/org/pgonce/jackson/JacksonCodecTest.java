package org.pgonce.jackson;

import java.math.BigDecimal;
import org.pgonce.spi.PayloadCodec;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;

class JacksonCodecTest extends CodecContract<JsonNode> {

  JacksonCodecTest() {
    super(new JacksonCodec(), JsonNode.class);
  }

  @Override
  PayloadCodec refusingUnknownFields() {
    return new JacksonCodec(
        JacksonCodec.strict().enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build());
  }

  @Override
  PayloadCodec readingAsDeepAs(int depth) {
    return new JacksonCodec(JacksonCodec.strict(bounds -> bounds.maxNestingDepth(depth)).build());
  }

  @Override
  BigDecimal number(JsonNode tree) {
    return tree.decimalValue();
  }
}
