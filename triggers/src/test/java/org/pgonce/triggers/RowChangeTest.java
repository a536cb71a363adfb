package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.jackson.JacksonCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;
import tools.jackson.databind.JsonNode;

/** How a stored change is read, also when somebody has edited it. */
class RowChangeTest {

  private static final PayloadForm.Change<JsonNode> CHANGE =
      new PayloadForm.Change<>(JsonNode.class);

  private static RowChange<JsonNode> read(String json) throws UnreadablePayloadException {
    return CHANGE.decode(new JacksonCodec(), json);
  }

  @Test
  void h20_theRowsAreReadAsTheyWereWritten() throws Exception {
    var old = "{\"a\":1.10,\"b\":[1e400,\"}\\\"\uD83D\uDE00ä\\u0000\"],\"op\":\"DELETE\"}";
    var now = "{ \"a\" : 12345678901234567890.000 , \"new\":{\"old\":null}}";
    var change =
        read(" {\"new\" :" + now + ",\n\"other\":[{}], \"op\": \"UPDATE\",\"old\":" + old + "}");
    var codec = new JacksonCodec();
    assertThat(change)
        .isEqualTo(
            new RowChange.Updated<>(
                codec.decode(old, JsonNode.class), codec.decode(now, JsonNode.class)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "null",
        "[]",
        "{}",
        "{\"op\":\"INSERT\"}",
        "{\"op\":\"UPDATE\",\"new\":{}}",
        "{\"op\":\"DELETE\",\"new\":{}}",
        "{\"op\":\"MERGE\",\"new\":{}}",
        "{\"op\":7,\"new\":{}}",
        "{\"op\":\"INSERT\",\"new\":null}",
        "{\"op\":\"INSERT\",\"new\":\"{}\"}",
        "{\"op\":\"INSERT\",\"new\":5}",
        "{\"op\":\"INSERT\",\"new\":{}",
        "{\"op\":\"INSERT\",\"new\":{}} {}",
        "{\"op\":\"INSERT\",\"new\":{},\"new\":{}}"
      })
  void h25_whatIsNoChangeIsUnreadable(String json) {
    assertThatThrownBy(() -> read(json))
        .isInstanceOf(UnreadablePayloadException.class)
        .hasMessageStartingWith("not readable as a change: ");
  }
}
