/** What the start says. */
@NullMarked
package org.pgonce.internal.lifecycle;

import org.jspecify.annotations.NullMarked;
