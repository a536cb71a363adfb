/** Guards and sequences: what is kept of a call before and after it is made. */
@NullMarked
package org.pgonce.internal.guard;

import org.jspecify.annotations.NullMarked;
