/** Schema, definitions and housekeeping of a database in use. */
@NullMarked
package org.pgonce.install;

import org.jspecify.annotations.NullMarked;
