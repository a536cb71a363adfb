/** Both codecs, by one contract; and which of them is taken. */
@NullMarked
package org.pgonce.jackson;

import org.jspecify.annotations.NullMarked;
