/** AT_LEAST_ONCE and AT_MOST_ONCE. */
@NullMarked
package org.pgonce.lease;

import org.jspecify.annotations.NullMarked;
