/**
 * A mail campaign that survives whatever befalls it (S11). {@link
 * org.pgonce.example.campaign.MailCampaign} is what an application would have, with {@link
 * org.pgonce.example.campaign.MailClient} for its mail service; the rest runs it, breaks it and
 * counts.
 */
@NullMarked
package org.pgonce.example.campaign;

import org.jspecify.annotations.NullMarked;
