/** From a definition to DDL, and from the database back to what differs. */
@NullMarked
package org.pgonce.triggers.internal;

import org.jspecify.annotations.NullMarked;
