/**
 * What puts the stations together. A notification passes through the packages below this one in
 * this order: store, listen, claim, deliver, settle.
 */
@NullMarked
package org.pgonce.internal;

import org.jspecify.annotations.NullMarked;
