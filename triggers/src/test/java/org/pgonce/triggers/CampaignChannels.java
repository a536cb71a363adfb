package org.pgonce.triggers;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;

/** One channel of each kind. What a kind promises, {@link CampaignOracle} asks by its options. */
final class CampaignChannels {

  /**
   * @param what names it in all tables of the campaign; given once
   */
  record Work(String what, String key) {}

  record Item(long id, int version) {}

  static final Channel<Work> HEARD = of("heard", Mode.BROADCAST, ChannelOptions.DEFAULT);

  /** Its mode is changed, and changed back: its listeners know this one. */
  static final Channel<Work> CHANGING = of("changing", Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT);

  /** Gets a second subscription, and loses it. */
  static final Channel<Work> PLAIN = of("plain", Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT);

  static final Channel<Work> PLAIN_AND_EXTRA =
      of(
          "plain",
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT.withSubscriptions(ChannelOptions.DEFAULT_SUBSCRIPTION, "extra"));

  static final TriggerChannel<RowChange<Item>> ITEMS =
      TriggerChannel.changesOf("item", Item.class)
          .afterInsert()
          .afterUpdate()
          .afterDelete()
          .orderKey("id")
          .options(ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS))
          .named("items")
          .build();

  /** What writers publish to and operators act on. */
  static final List<Channel<Work>> STORED =
      List.of(
          PLAIN,
          CHANGING,
          of("batch", Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT),
          of("remembered", Mode.AT_LEAST_ONCE, keeping(Duration.ofSeconds(2))),
          of("leased", Mode.AT_LEAST_ONCE, ChannelOptions.DEFAULT),
          of("once", Mode.AT_MOST_ONCE, ChannelOptions.DEFAULT),
          of("blocks", Mode.EXACTLY_ONCE, order(KeyOrder.DEAD_LETTER_BLOCKS)),
          of("leased_blocks", Mode.AT_LEAST_ONCE, order(KeyOrder.DEAD_LETTER_BLOCKS)),
          of("passes", Mode.EXACTLY_ONCE, order(KeyOrder.DEAD_LETTER_PASSES)),
          of("leased_passes", Mode.AT_LEAST_ONCE, order(KeyOrder.DEAD_LETTER_PASSES)),
          of("once_passes", Mode.AT_MOST_ONCE, order(KeyOrder.DEAD_LETTER_PASSES)),
          of("limited", Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withMaxPerKey(2)),
          of("leased_limited", Mode.AT_LEAST_ONCE, ChannelOptions.DEFAULT.withMaxPerKey(2)),
          of("rated", Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withMaxRate(100)),
          of("leased_rated", Mode.AT_LEAST_ONCE, ChannelOptions.DEFAULT.withMaxRate(100)));

  private CampaignChannels() {}

  static Channel<?>[] all() {
    return Stream.concat(Stream.of(HEARD, ITEMS), STORED.stream()).toArray(Channel<?>[]::new);
  }

  /** Those that an operator can act on. */
  static List<Channel<?>> stored() {
    return Stream.<Channel<?>>concat(Stream.of(ITEMS), STORED.stream()).toList();
  }

  private static Channel<Work> of(String name, Mode mode, ChannelOptions options) {
    return Channel.of(name, Work.class, mode, options);
  }

  private static ChannelOptions order(KeyOrder order) {
    return ChannelOptions.DEFAULT.withOrder(order);
  }

  private static ChannelOptions keeping(Duration memory) {
    return ChannelOptions.DEFAULT.withKeyMemory(memory);
  }
}
