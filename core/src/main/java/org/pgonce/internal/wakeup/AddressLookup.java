package org.pgonce.internal.wakeup;

import java.util.List;
import org.pgonce.spi.ListenAddress;

/** Where to listen, or why nobody can tell. */
public sealed interface AddressLookup {

  /**
   * The servers to try.
   *
   * @param addresses in this order until one listens; at least one. More than one stand for the
   *     same cluster: a standby refuses LISTEN, so the primary is found by trying
   */
  record Found(List<ListenAddress> addresses) implements AddressLookup {
    public Found {
      addresses = List.copyOf(addresses);
      if (addresses.isEmpty()) {
        throw new IllegalArgumentException("no address; say Unknown with the reason instead");
      }
    }
  }

  /**
   * No address: work goes on by polling.
   *
   * @param reason a sentence for logs and status that says what to do
   */
  record Unknown(String reason) implements AddressLookup {}

  static AddressLookup found(ListenAddress address) {
    return new Found(List.of(address));
  }
}
