/** Station 1: how a notification gets into the database, and the schema that keeps it. */
@NullMarked
package org.pgonce.internal.store;

import org.jspecify.annotations.NullMarked;
