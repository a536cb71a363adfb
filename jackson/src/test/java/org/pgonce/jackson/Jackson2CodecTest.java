package org.pgonce.jackson;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import org.pgonce.spi.PayloadCodec;

class Jackson2CodecTest extends CodecContract<JsonNode> {

  Jackson2CodecTest() {
    super(new Jackson2Codec(), JsonNode.class);
  }

  @Override
  PayloadCodec refusingUnknownFields() {
    return new Jackson2Codec(
        Jackson2Codec.strict().enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build());
  }

  @Override
  PayloadCodec readingAsDeepAs(int depth) {
    return new Jackson2Codec(Jackson2Codec.strict(bounds -> bounds.maxNestingDepth(depth)).build());
  }

  @Override
  BigDecimal number(JsonNode tree) {
    return tree.decimalValue();
  }
}
