/** Whether records and tables go together. */
@NullMarked
package org.pgonce.records.internal.fit;

import org.jspecify.annotations.NullMarked;
