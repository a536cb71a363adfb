package org.pgonce.payload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PayloadRules;
import org.pgonce.PayloadRules.MissingFields;
import org.pgonce.PayloadRules.UnknownFields;
import org.pgonce.PgOnce;
import org.pgonce.spi.JacksonCodec;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;
import tools.jackson.databind.DeserializationFeature;

/** H24: fields that are unknown or missing, and rules that cannot be. */
class PayloadRulesTest {

  record Article(long id, @Nullable String name, int stock) {}

  private static final String WHOLE = "{\"id\": 1, \"name\": \"pen\", \"stock\": 2}";
  private static final String MORE = "{\"id\": 1, \"name\": \"pen\", \"stock\": 2, \"color\": 3}";
  private static final String NO_NAME = "{\"id\": 1, \"stock\": 2}";
  private static final String NULL_NAME = "{\"id\": 1, \"name\": null, \"stock\": 2}";
  private static final String NO_STOCK = "{\"id\": 1, \"name\": \"pen\"}";
  private static final String NULL_STOCK = "{\"id\": 1, \"name\": \"pen\", \"stock\": null}";

  private static Article read(UnknownFields unknown, MissingFields missing, String json)
      throws UnreadablePayloadException {
    return new JacksonCodec().with(unknown, missing).decode(json, Article.class);
  }

  @Test
  void h24_unknownFieldsArePassedOverOrRefused() throws Exception {
    assertThat(read(UnknownFields.IGNORE, MissingFields.NULL, MORE)).isEqualTo(pen(2));
    assertThat(read(UnknownFields.FAIL, MissingFields.NULL, WHOLE)).isEqualTo(pen(2));
    assertThatThrownBy(() -> read(UnknownFields.FAIL, MissingFields.NULL, MORE))
        .isInstanceOf(UnreadablePayloadException.class)
        .hasMessageContaining(".color");
  }

  @Test
  void h24_missingFieldsAreNullOrZeroOrRefused() throws Exception {
    assertThat(read(UnknownFields.IGNORE, MissingFields.NULL, NO_NAME).name()).isNull();
    assertUnreadable(MissingFields.NULL, NO_STOCK);
    assertThat(read(UnknownFields.IGNORE, MissingFields.NULL_OR_ZERO, NO_NAME).name()).isNull();
    assertThat(read(UnknownFields.IGNORE, MissingFields.NULL_OR_ZERO, NO_STOCK)).isEqualTo(pen(0));
    assertUnreadable(MissingFields.FAIL, NO_NAME);
    assertUnreadable(MissingFields.FAIL, NO_STOCK);
    assertThat(read(UnknownFields.FAIL, MissingFields.FAIL, WHOLE)).isEqualTo(pen(2));
  }

  @Test
  void h24_nullIsNoMissingField() throws Exception {
    for (var missing : MissingFields.values()) {
      assertThat(read(UnknownFields.FAIL, missing, NULL_NAME).name()).isNull();
      assertUnreadable(missing, NULL_STOCK);
    }
  }

  private static Article pen(int stock) {
    return new Article(1, "pen", stock);
  }

  private static void assertUnreadable(MissingFields missing, String json) {
    assertThatThrownBy(() -> read(UnknownFields.IGNORE, missing, json))
        .isInstanceOf(UnreadablePayloadException.class);
  }

  @Test
  void h24_aMapperOfOnesOwnKeepsItsSettingsWhereTheRulesAreTheDefaults() {
    var own =
        new JacksonCodec(
            JacksonCodec.strict()
                .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .build());
    assertThat(own.with(UnknownFields.IGNORE, MissingFields.NULL)).isSameAs(own);
    assertThatThrownBy(
            () ->
                own.with(UnknownFields.IGNORE, MissingFields.NULL_OR_ZERO)
                    .decode(MORE, Article.class))
        .isInstanceOf(UnreadablePayloadException.class);
  }

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
    PayloadRules.Upcaster same = payload -> payload;
    var none = PayloadRules.DEFAULT;
    assertRefused(none.withVersion(2), "version 2 has no upcaster from 1 to 2", "withOldest(2)");
    assertRefused(
        none.withVersion(4).withUpcaster(1, same).withUpcaster(3, same),
        "version 4 has no upcaster from 2 to 3");
    assertRefused(none.withOldest(2), "oldest version that is read, 2, is above the version, 1");
    assertRefused(
        none.withVersion(2).withUpcaster(1, same).withUpcaster(2, same),
        "upcaster from version 2 to 3 leads nowhere");
    assertRefused(
        none.withVersion(2).withOldest(2).withUpcaster(1, same),
        "from version 1 to 2 leads nowhere");
    var whole = none.withVersion(3).withUpcaster(2, same).withUpcaster(1, same);
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
    PayloadRules.Upcaster same = payload -> payload;
    for (var version : List.of(0, -1, 32_768)) {
      assertThatThrownBy(() -> none.withVersion(version))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("version " + version + " is not between 1 and 32,767");
    }
    assertThatThrownBy(() -> none.withOldest(0)).hasMessage("oldest version 0 is below 1");
    assertThatThrownBy(() -> none.withUpcaster(1, same).withUpcaster(1, same))
        .hasMessage("there are two upcasters from version 1");
  }
}
