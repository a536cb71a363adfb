/** Builds and stops all of the above. */
@NullMarked
package org.pgonce.internal.lifecycle;

import org.jspecify.annotations.NullMarked;
