/** Not for use by others. */
@NullMarked
package org.pgonce.spring.internal;

import org.jspecify.annotations.NullMarked;
