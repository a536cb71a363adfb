/** What the parts of one listener share. */
@NullMarked
package org.pgonce.internal.context;

import org.jspecify.annotations.NullMarked;
