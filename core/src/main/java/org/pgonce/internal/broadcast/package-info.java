/** Broadcasts: what NOTIFY itself carries. */
@NullMarked
package org.pgonce.internal.broadcast;

import org.jspecify.annotations.NullMarked;
