/** What the console can do to channels and to what waits in them. */
@NullMarked
package org.pgonce.console.internal.act;

import org.jspecify.annotations.NullMarked;
