package org.pgonce.internal;

import org.pgonce.internal.claim.ScanStatements.Found;

/** A subscription that the scan asks for. */
interface Scanned {

  int subscription();

  /**
   * What a scan has found of it.
   *
   * @param scan its number
   */
  void told(Found found, long scan);
}
