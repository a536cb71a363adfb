/** Publishes what a query finds, again and again. {@link org.pgonce.sweeps.Sweep} is all of it. */
@NullMarked
package org.pgonce.sweeps;

import org.jspecify.annotations.NullMarked;
