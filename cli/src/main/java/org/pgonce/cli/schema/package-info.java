/** The schema pgonce, the rights on it, and the records of tables. */
@NullMarked
package org.pgonce.cli.schema;

import org.jspecify.annotations.NullMarked;
