/** Who is woken, and what finds a row that woke nobody. */
@NullMarked
package org.pgonce.wakeup;

import org.jspecify.annotations.NullMarked;
