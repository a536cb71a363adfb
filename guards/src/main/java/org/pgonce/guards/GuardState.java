package org.pgonce.guards;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What is stored of a guard, a sequence or a step, without request and response.
 *
 * @param outcome of a sequence that was interrupted, or whose run has failed: FAILED and repeatable
 * @param repeatable whether it may be begun again: a failure that had no effect, one that a person
 *     has released, a sequence that may be resumed
 * @param attempt which attempt this is, from 1
 * @param startedAt when this attempt began (of a sequence: the first), by the database's clock
 * @param age how long ago that was, by the same clock
 * @param instance the process that began it, as {@link GuardsBuilder#instance} names it
 * @param role the database login that it used
 * @param error the failure in words, or why a response is missing
 */
public record GuardState(
    GuardKey key,
    GuardOutcome outcome,
    boolean repeatable,
    int attempt,
    Instant startedAt,
    Duration age,
    String instance,
    String role,
    @Nullable String error) {}
