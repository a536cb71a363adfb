/** Order and limit per key. */
@NullMarked
package org.pgonce.key;

import org.jspecify.annotations.NullMarked;
