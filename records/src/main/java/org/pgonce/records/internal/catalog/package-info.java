/** What the catalogs say of tables and types. */
@NullMarked
package org.pgonce.records.internal.catalog;

import org.jspecify.annotations.NullMarked;
