/** Values of the database as people read them. */
@NullMarked
package org.pgonce.operations.internal.text;

import org.jspecify.annotations.NullMarked;
