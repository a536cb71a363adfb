/**
 * Connections of any data source, fit for pgonce: their settings, what is lost of them, and what
 * the drivers need.
 */
@NullMarked
package org.pgonce.internal.jdbc;

import org.jspecify.annotations.NullMarked;
