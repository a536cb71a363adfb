/** Payloads as JSON by Jackson 3 or Jackson 2, by the same strict rules. */
@NullMarked
package org.pgonce.jackson;

import org.jspecify.annotations.NullMarked;
