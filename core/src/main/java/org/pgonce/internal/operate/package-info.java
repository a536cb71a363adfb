/** Beside a notification's way: what people, and handlers that cannot go on, do to channels. */
@NullMarked
package org.pgonce.internal.operate;

import org.jspecify.annotations.NullMarked;
