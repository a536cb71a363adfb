/** How many transactions per second writers commit, with a trigger and without. */
@NullMarked
package org.pgonce.benchmarks.writers;

import org.jspecify.annotations.NullMarked;
