/** The public API: channels, publishing, listening. Start at {@link org.pgonce.PgOnce}. */
@NullMarked
package org.pgonce;

import org.jspecify.annotations.NullMarked;
