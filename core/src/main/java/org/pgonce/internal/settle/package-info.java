/** Station 5: deletes, schedules a retry, or dead-letters. */
@NullMarked
package org.pgonce.internal.settle;

import org.jspecify.annotations.NullMarked;
