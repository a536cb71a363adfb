/** What is stored, for whom, under which keys and names. */
@NullMarked
package org.pgonce.publish;

import org.jspecify.annotations.NullMarked;
