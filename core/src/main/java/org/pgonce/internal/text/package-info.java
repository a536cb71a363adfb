/** SQL as text. Imports no other package. */
@NullMarked
package org.pgonce.internal.text;

import org.jspecify.annotations.NullMarked;
