/** Delays, due times, and clocks that are wrong. */
@NullMarked
package org.pgonce.time;

import org.jspecify.annotations.NullMarked;
