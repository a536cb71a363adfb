/** Station 4: decodes the payload and runs the handler on a guarded connection. */
@NullMarked
package org.pgonce.internal.deliver;

import org.jspecify.annotations.NullMarked;
