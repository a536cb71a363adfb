/**
 * Keeps calls from being made twice: guards, sequences of steps, compare-and-set. {@link
 * org.pgonce.guards.Guards} is where everything begins.
 */
@NullMarked
package org.pgonce.guards;

import org.jspecify.annotations.NullMarked;
