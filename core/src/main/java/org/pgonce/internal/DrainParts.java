package org.pgonce.internal;

import java.util.concurrent.locks.Lock;
import org.pgonce.internal.deliver.Places;

/**
 * What the workers of a drain have in common. All but the places and the turnstile is guarded by
 * the lock.
 */
record DrainParts(
    Lock lock,
    Places places,
    Turnstile turnstile,
    Prospects prospects,
    KeyCursors keys,
    Pace pace,
    Standby standby,
    Overload overload,
    Lookout lookout) {}
