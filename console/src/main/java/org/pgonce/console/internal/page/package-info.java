/** What a page is made of, and how it becomes HTML. Knows no database. */
@NullMarked
package org.pgonce.console.internal.page;

import org.jspecify.annotations.NullMarked;
