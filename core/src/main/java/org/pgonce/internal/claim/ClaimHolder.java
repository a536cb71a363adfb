package org.pgonce.internal.claim;

import org.jspecify.annotations.Nullable;

/**
 * The session whose transaction holds a claimed row.
 *
 * @param backendPid its server process
 * @param idleTimeout its idle_in_transaction_session_timeout outside the claim's transaction
 * @param settings its settings by {@link org.pgonce.internal.jdbc.SessionState}, where the claim
 *     has set the handler's savepoint too; else null
 */
public record ClaimHolder(int backendPid, String idleTimeout, @Nullable String settings) {}
