/** What only looks. */
@NullMarked
package org.pgonce.cli.look;

import org.jspecify.annotations.NullMarked;
