package org.pgonce.internal.poll;

import java.time.Duration;
import java.util.UUID;

/**
 * Who this listener is to the others.
 *
 * @param instance the process's name for people
 * @param silence after that long without a heartbeat it counts as gone
 */
public record ListenerIdentity(UUID id, String instance, Duration silence) {}
