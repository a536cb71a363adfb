/** Station 2: hears NOTIFY on a connection of its own. A wake-up is only a hint. */
@NullMarked
package org.pgonce.internal.wakeup;

import org.jspecify.annotations.NullMarked;
