/** Deletes what is handled, schedules a retry, or makes a dead letter. */
@NullMarked
package org.pgonce.internal.settle;

import org.jspecify.annotations.NullMarked;
