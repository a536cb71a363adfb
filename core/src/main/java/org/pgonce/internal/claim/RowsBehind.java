package org.pgonce.internal.claim;

/**
 * What may be left to do behind a notification that has ended.
 *
 * @param more new rows
 * @param due scheduled rows that are due
 */
public record RowsBehind(boolean more, boolean due) {}
