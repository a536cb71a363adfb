/**
 * Ways to have work done that a transaction has stored: pgonce, and the same steps written by hand.
 */
@NullMarked
package org.pgonce.benchmarks.work;

import org.jspecify.annotations.NullMarked;
