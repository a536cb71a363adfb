/** Payloads of several versions, and the rules for their fields. */
@NullMarked
package org.pgonce.payload;

import org.jspecify.annotations.NullMarked;
