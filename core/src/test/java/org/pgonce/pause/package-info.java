/** Pauses and rates: when no handler may begin. */
@NullMarked
package org.pgonce.pause;

import org.jspecify.annotations.NullMarked;
