/** A class per page: what it asks, and of which sections it is made. */
@NullMarked
package org.pgonce.console.internal.site;

import org.jspecify.annotations.NullMarked;
