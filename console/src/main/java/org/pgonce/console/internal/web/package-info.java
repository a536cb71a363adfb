/** What stands between a browser and the pages: parsing, sessions, files. Knows no database. */
@NullMarked
package org.pgonce.console.internal.web;

import org.jspecify.annotations.NullMarked;
