package org.pgonce.internal.listen;

import java.util.List;
import org.pgonce.spi.ListenAddress;

/** Where to listen. Asked anew for each connect, so that a rotated password is picked up. */
@FunctionalInterface
public interface AddressLookup {

  /**
   * Returns the servers to try, in this order until one listens; at least one. Several stand for
   * the same cluster: a standby refuses LISTEN, so the primary is found by trying.
   *
   * @throws ListenFailure of kind POLLING if there is no address to be found
   */
  List<ListenAddress> find() throws ListenFailure;
}
