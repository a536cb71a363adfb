package org.pgonce.internal.lifecycle;

import java.time.Duration;
import java.util.List;
import org.pgonce.internal.listen.ListenAddresses;
import org.pgonce.spi.WakeUpSource;

/**
 * The settings of one listener.
 *
 * @param sources tried in this order; none for polling alone
 * @param addressGiven whether the user gave the address: then a wrong one is an error at start
 * @param startTimeout for how long the start tries again to reach the database
 * @param instance the process's name for people
 */
public record ListenSettings(
    List<WakeUpSource> sources,
    ListenAddresses.Lookup address,
    boolean addressGiven,
    Duration pollInterval,
    Duration startTimeout,
    String instance) {}
