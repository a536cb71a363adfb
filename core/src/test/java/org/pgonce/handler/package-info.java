/** From the claim to the commit: handlers that fail, hang, or bend their transaction. */
@NullMarked
package org.pgonce.handler;

import org.jspecify.annotations.NullMarked;
