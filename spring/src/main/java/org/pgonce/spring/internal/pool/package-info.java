/** Which data sources lead to one pool. Not for use by others. */
@NullMarked
package org.pgonce.spring.internal.pool;

import org.jspecify.annotations.NullMarked;
