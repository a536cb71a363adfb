/** What publishes in a transaction, within a span or without. Not for use by others. */
@NullMarked
package org.pgonce.spring.internal.publish;

import org.jspecify.annotations.NullMarked;
