package org.pgonce.internal.claim;

import java.time.Duration;
import java.util.UUID;

/** Who this listener is to the others. */
public record ListenerIdentity(UUID id, String instance, Duration pollInterval) {}
