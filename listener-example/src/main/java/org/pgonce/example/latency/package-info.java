/**
 * From commit returning to handler start, by one clock: pgonce beside a bare NOTIFY and beside the
 * same work written by hand.
 */
@NullMarked
package org.pgonce.example.latency;

import org.jspecify.annotations.NullMarked;
