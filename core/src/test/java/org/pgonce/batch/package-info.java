/** Several notifications in one transaction. */
@NullMarked
package org.pgonce.batch;

import org.jspecify.annotations.NullMarked;
