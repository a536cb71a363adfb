/**
 * Channels that are fed by a trigger on a table. Start at {@link
 * org.pgonce.triggers.TriggerChannel}.
 */
@NullMarked
package org.pgonce.triggers;

import org.jspecify.annotations.NullMarked;
