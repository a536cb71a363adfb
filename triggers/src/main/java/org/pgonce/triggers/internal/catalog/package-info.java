/** What the database has: tables, columns, and the functions and triggers of channels. */
@NullMarked
package org.pgonce.triggers.internal.catalog;

import org.jspecify.annotations.NullMarked;
