/** The schema pgonce and the rights on it. */
@NullMarked
package org.pgonce.cli.schema;

import org.jspecify.annotations.NullMarked;
