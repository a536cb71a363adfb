/** Decodes the payload and runs the handler on a guarded connection. */
@NullMarked
package org.pgonce.internal.handle;

import org.jspecify.annotations.NullMarked;
