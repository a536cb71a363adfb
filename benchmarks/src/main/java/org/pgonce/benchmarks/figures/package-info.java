/** What was measured, round by round, and how it is told. */
@NullMarked
package org.pgonce.benchmarks.figures;

import org.jspecify.annotations.NullMarked;
