/** What was handled, and is kept for a time where a channel asks for it. */
@NullMarked
package org.pgonce.history;

import org.jspecify.annotations.NullMarked;
