/** What a notification costs the server. */
@NullMarked
package org.pgonce.cost;

import org.jspecify.annotations.NullMarked;
