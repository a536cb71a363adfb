/** What tests of all packages stand on. */
@NullMarked
package org.pgonce.stage;

import org.jspecify.annotations.NullMarked;
