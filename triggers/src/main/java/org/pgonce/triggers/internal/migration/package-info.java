/** Migrations in the forms that tools take. */
@NullMarked
package org.pgonce.triggers.internal.migration;

import org.jspecify.annotations.NullMarked;
