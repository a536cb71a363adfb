/**
 * What the tests of every module stand on: real PostgreSQL servers that may be killed, fresh
 * databases, a TCP proxy that breaks connections on purpose, and child JVMs that may be killed or
 * stopped.
 *
 * <p>Nothing here depends on pgonce itself, so that a test proves its promise with tools that share
 * no code with it.
 */
@NullMarked
package org.pgonce.testkit;

import org.jspecify.annotations.NullMarked;
