/** From definition and database to what differs, and to what is done about it. */
@NullMarked
package org.pgonce.triggers.internal.install;

import org.jspecify.annotations.NullMarked;
