/** Short transactions of pgonce's own. */
@NullMarked
package org.pgonce.internal.jdbc;

import org.jspecify.annotations.NullMarked;
