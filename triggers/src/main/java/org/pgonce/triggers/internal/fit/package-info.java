/** Whether a row of the table can be read as the channel's type. */
@NullMarked
package org.pgonce.triggers.internal.fit;

import org.jspecify.annotations.NullMarked;
