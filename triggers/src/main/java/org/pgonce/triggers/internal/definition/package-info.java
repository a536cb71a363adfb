/** What a channel captures, and the SQL that makes it so. */
@NullMarked
package org.pgonce.triggers.internal.definition;

import org.jspecify.annotations.NullMarked;
