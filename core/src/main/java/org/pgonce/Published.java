package org.pgonce;

/**
 * What became of a notification that was published with options.
 *
 * @param id its id; if its delivery key was there already, the id of the notification that has it
 * @param stored whether it was stored; false if its delivery key was there already, and then
 *     nothing was
 */
public record Published(long id, boolean stored) {}
