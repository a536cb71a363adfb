package org.pgonce.internal.claim;

/**
 * Whether rows may wait behind a notification that has ended.
 *
 * @param more new ones
 * @param due scheduled ones that are due
 */
public record RowsBehind(boolean more, boolean due) {}
