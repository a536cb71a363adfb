package org.pgonce.internal.handle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PayloadRules;
import org.pgonce.spi.JacksonCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;
import tools.jackson.databind.JsonNode;

/** What an upcaster does not touch is what was stored. */
class PayloadReaderTest {

  private static final Channel<JsonNode> RAISED =
      Channel.of(
          "raised",
          JsonNode.class,
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT.withPayload(
              PayloadRules.DEFAULT.withVersion(2).withUpcaster(1, payload -> payload)));

  private final PayloadReader<JsonNode> reader = new PayloadReader<>(RAISED, new JacksonCodec());

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1.10",
        "1E+400",
        "9223372036854775808",
        "0.1000000000000000055511151231257827",
        "[null, true, {}, []]",
        "\"\\u0000 \\ud83d\\ude00 \\u00e4\"",
        "{\"a b\": {\"\": 1}, \"z\": 1, \"a\": 2}",
      })
  void h20_aPayloadGoesThroughAnUpcasterUnchanged(String json) throws Exception {
    assertThat(reader.read(1, 1, json).toString()).isEqualTo(reader.read(1, 2, json).toString());
  }

  @Test
  void h20_numbersOfAnyLengthDoToo() throws Exception {
    var digits = "9".repeat(131_072) + "." + "1".repeat(16_383);
    assertThat(reader.read(1, 1, digits).decimalValue().toPlainString()).isEqualTo(digits);
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"a\": 1, \"a\": 2}", "{} {}", "", "{\"a\":"})
  void h21_whatIsNoJsonIsUnreadableWithAnUpcasterAndWithoutOne(String json) {
    for (var version = 1; version <= 2; version++) {
      var made = version;
      assertThatThrownBy(() -> reader.read(1, made, json))
          .isInstanceOf(UnreadablePayloadException.class);
    }
  }
}
