/** What Spring does not say of its current transaction. Not for use by others. */
@NullMarked
package org.pgonce.spring.internal.transaction;

import org.jspecify.annotations.NullMarked;
