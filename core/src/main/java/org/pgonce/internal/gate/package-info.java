/** Whether writers need to NOTIFY. */
@NullMarked
package org.pgonce.internal.gate;

import org.jspecify.annotations.NullMarked;
