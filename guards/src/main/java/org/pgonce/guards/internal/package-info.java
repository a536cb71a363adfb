/** Guards and sequences: what is kept of a call before and after it is made. */
@NullMarked
package org.pgonce.guards.internal;

import org.jspecify.annotations.NullMarked;
