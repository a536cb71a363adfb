/** What a process costs that has nothing to do. */
@NullMarked
package org.pgonce.benchmarks.idle;

import org.jspecify.annotations.NullMarked;
