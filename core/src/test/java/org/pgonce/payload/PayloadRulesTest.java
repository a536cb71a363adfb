package org.pgonce.payload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PayloadRules;
import org.pgonce.PayloadRules.UnknownFields;
import org.pgonce.PgOnce;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/** H24: rules that cannot be. */
class PayloadRulesTest {

  @Test
  void h24_aCodecWithoutSuchRulesIsRefusedBeforeTheStart() {
    var codec =
        new PayloadCodec() {
          @Override
          public <T> String encode(T payload, Class<T> type) {
            return "";
          }

          @Override
          public <T> T decode(String json, Class<T> type) throws UnreadablePayloadException {
            throw new UnreadablePayloadException("never");
          }
        };
    var strict = PayloadRules.DEFAULT.withUnknownFields(UnknownFields.FAIL);
    var channel =
        Channel.of(
            "a", String.class, Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withPayload(strict));
    var pgonce = PgOnce.builder(new org.postgresql.ds.PGSimpleDataSource()).codec(codec).build();
    assertThatThrownBy(() -> pgonce.listen(channel, (one, tx) -> {}))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("cannot be told what to do with unknown fields (FAIL)");
    pgonce.listen(Channel.of("b", String.class), (one, tx) -> {});
  }

  @Test
  void h24_aGapInTheChainIsRefusedWhenTheChannelIsMade() {
    PayloadRules.Upcaster<Object> same = payload -> payload;
    var none = PayloadRules.DEFAULT;
    assertRefused(none.withVersion(2), "version 2 has no upcaster from 1 to 2", "withOldest(2)");
    assertRefused(
        none.withVersion(4).withUpcaster(1, Object.class, same).withUpcaster(3, Object.class, same),
        "version 4 has no upcaster from 2 to 3");
    assertRefused(none.withOldest(2), "oldest version that is read, 2, is above the version, 1");
    assertRefused(
        none.withVersion(2).withUpcaster(1, Object.class, same).withUpcaster(2, Object.class, same),
        "upcaster from version 2 to 3 leads nowhere");
    assertRefused(
        none.withVersion(2).withOldest(2).withUpcaster(1, Object.class, same),
        "from version 1 to 2 leads nowhere");
    var whole =
        none.withVersion(3).withUpcaster(2, Object.class, same).withUpcaster(1, Object.class, same);
    assertThat(channel(whole).options().payload()).isEqualTo(whole);
    assertThat(channel(none.withVersion(3).withOldest(3)).options().payload().oldest())
        .isEqualTo(3);
  }

  private static Channel<String> channel(PayloadRules rules) {
    return Channel.of("a", String.class, Mode.BROADCAST, ChannelOptions.DEFAULT.withPayload(rules));
  }

  private static void assertRefused(PayloadRules rules, String... words) {
    assertThatThrownBy(() -> channel(rules))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll(words);
  }

  @Test
  void h24_whatCannotBeARuleIsRefused() {
    var none = PayloadRules.DEFAULT;
    PayloadRules.Upcaster<Object> same = payload -> payload;
    for (var version : List.of(0, -1, 32_768)) {
      assertThatThrownBy(() -> none.withVersion(version))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("version " + version + " is not between 1 and 32,767");
    }
    assertThatThrownBy(() -> none.withOldest(0)).hasMessage("oldest version 0 is below 1");
    assertThatThrownBy(
            () -> none.withUpcaster(1, Object.class, same).withUpcaster(1, Object.class, same))
        .hasMessage("there are two upcasters from version 1");
  }
}
