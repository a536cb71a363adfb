/**
 * Connection pools: what they say of themselves, read by their getters, as none is a dependency;
 * and a warning of handlers that take two connections of one.
 */
@NullMarked
package org.pgonce.pools;

import org.jspecify.annotations.NullMarked;
