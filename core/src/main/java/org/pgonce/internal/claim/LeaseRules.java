package org.pgonce.internal.claim;

import java.time.Duration;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;

/**
 * By which rules a subscription's notifications are leased.
 *
 * @param mode as this process knows it
 * @param lease for how long
 * @param maxAttempts after so many a notification is a dead letter
 */
public record LeaseRules(
    int subscription, Mode mode, ChannelOptions options, Duration lease, int maxAttempts) {}
