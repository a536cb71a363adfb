/** A subscription's consumer: when a worker begins to claim, and what it does then. */
@NullMarked
package org.pgonce.internal.consume;

import org.jspecify.annotations.NullMarked;
