/** Curves of what was measured, as SVG. */
@NullMarked
package org.pgonce.benchmarks.plots;

import org.jspecify.annotations.NullMarked;
