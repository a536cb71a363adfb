/**
 * The scenarios from practice, a program each: channel, handler and what is published stand at the
 * top, to be copied; below them it is played and counted.
 */
@NullMarked
package org.pgonce.example.scenario;

import org.jspecify.annotations.NullMarked;
