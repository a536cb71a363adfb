/** Station 3: takes due notifications by id, so that one process has each. */
@NullMarked
package org.pgonce.internal.claim;

import org.jspecify.annotations.NullMarked;
