/** Worker slots, and broadcasts. */
@NullMarked
package org.pgonce.internal.deliver;

import org.jspecify.annotations.NullMarked;
