/** Claims rows, for a transaction or on lease. */
@NullMarked
package org.pgonce.internal.claim;

import org.jspecify.annotations.NullMarked;
