/** From commit returning to handler start, by one clock. */
@NullMarked
package org.pgonce.benchmarks.latency;

import org.jspecify.annotations.NullMarked;
