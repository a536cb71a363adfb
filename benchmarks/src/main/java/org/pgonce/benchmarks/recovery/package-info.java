/** How soon somebody else handles what was in the hands of one who is gone. */
@NullMarked
package org.pgonce.benchmarks.recovery;

import org.jspecify.annotations.NullMarked;
