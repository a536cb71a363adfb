/** What pgonce costs, measured beside the same work without it and by hand. */
@NullMarked
package org.pgonce.benchmarks;

import org.jspecify.annotations.NullMarked;
