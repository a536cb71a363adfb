/** The start and the stop of a listener. */
@NullMarked
package org.pgonce.lifecycle;

import org.jspecify.annotations.NullMarked;
