package org.pgonce.internal.lifecycle;

import java.time.Duration;
import java.util.List;
import org.pgonce.internal.listen.AddressLookup;
import org.pgonce.internal.listen.ListenConfig;
import org.pgonce.spi.WakeUpSource;

/**
 * How one listener listens.
 *
 * @param sources tried in this order; none for polling alone
 * @param address where the LISTEN connection goes
 * @param addressGiven whether the user gave it: then that it is wrong is an error at start
 * @param startTimeout for how long the start tries again where the database cannot be asked
 * @param instance the process's name for people
 */
public record ListenSettings(
    List<WakeUpSource> sources,
    AddressLookup address,
    boolean addressGiven,
    ListenConfig listening,
    Duration pollInterval,
    Duration startTimeout,
    String instance) {}
