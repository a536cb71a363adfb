/** Builds, starts and stops the parts of a listener. */
@NullMarked
package org.pgonce.internal.lifecycle;

import org.jspecify.annotations.NullMarked;
