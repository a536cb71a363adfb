package org.pgonce.guards.internal;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.pgonce.spi.PayloadCodec;

/** A request's fingerprint does not depend on the order in which a codec writes its fields. */
class FingerprintTest {

  private static String of(String json) {
    var codec =
        new PayloadCodec() {
          @Override
          public <T> String encode(T payload, Class<T> type) {
            return String.valueOf(payload);
          }

          @Override
          public <T> T decode(String text, Class<T> type) {
            throw new UnsupportedOperationException();
          }
        };
    return Fingerprint.of(codec, json, String.class);
  }

  @Test
  void s7_theOrderOfFieldsMakesNoOtherRequest() {
    assertThat(of(" {\"b\": [ {\"d\":1.0, \"c\":\"x y\"} , 2 ], \"a\": {} } "))
        .isEqualTo(of("{\"a\":{},\"b\":[{\"c\":\"x y\",\"d\":1.0},2]}"));
    assertThat(of("[1,2]")).isNotEqualTo(of("[2,1]"));
    assertThat(of("{\"a\":1.0}")).isNotEqualTo(of("{\"a\":1}"));
    assertThat(of("7")).hasSize(64);
  }

  @Test
  void whatIsNestedTooDeepIsTakenAsItIs() {
    var deep = "[".repeat(600) + "]".repeat(600);
    assertThat(of(deep)).isNotEqualTo(of(" " + deep));
  }
}
