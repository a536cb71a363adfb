/** The database's own state: schema, channels, rights; stores a notification. */
@NullMarked
package org.pgonce.internal.store;

import org.jspecify.annotations.NullMarked;
