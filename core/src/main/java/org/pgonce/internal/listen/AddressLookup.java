package org.pgonce.internal.listen;

import java.util.List;
import org.pgonce.spi.ListenAddress;

/** Where to listen. Called before each connect, so that a rotated password is picked up. */
@FunctionalInterface
public interface AddressLookup {

  /**
   * Returns the hosts of one cluster, at least one. They are tried in this order until one listens.
   *
   * @throws ListenFailure of kind POLLING if no address is known
   */
  List<ListenAddress> find() throws ListenFailure;
}
