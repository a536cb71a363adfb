package org.pgonce;

import java.util.Objects;
import java.util.StringJoiner;
import org.pgonce.internal.store.StorableText;

/**
 * Delivery keys that are made of several parts: the identity, in the business, of what is to happen
 * once.
 *
 * <pre>{@code
 * DeliveryKey.of("campaign", campaign.id(), "sub", subscriber.id()); // campaign:cmp_42:sub:7
 * }</pre>
 */
public final class DeliveryKey {

  private DeliveryKey() {}

  /**
   * The key of these parts, which no other parts give: they are joined by colons; a colon in a part
   * is written {@code %3A}, a percent sign {@code %25}, and an empty part {@code %}. {@code
   * pgonce.delivery_key('campaign', 'cmp_42', 'sub_7')} gives the same in SQL.
   *
   * @throws NullPointerException if a part is null: what is not known makes no identity
   * @throws IllegalArgumentException if there is no part, if the key would be longer than 500
   *     characters, or if it holds what PostgreSQL cannot store (NUL, lone surrogate)
   */
  public static String of(String... parts) {
    if (parts.length == 0) {
      throw new IllegalArgumentException("a delivery key needs at least one part");
    }
    var key = new StringJoiner(":");
    for (var part : parts) {
      Objects.requireNonNull(part, "a part");
      key.add(part.isEmpty() ? "%" : part.replace("%", "%25").replace(":", "%3A"));
    }
    return StorableText.requireKey("a delivery key", key.toString());
  }
}
