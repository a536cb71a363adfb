/**
 * Tests of code that publishes and handles, against a real PostgreSQL. {@link
 * org.pgonce.test.PgOnceTester} is where everything begins; {@link org.pgonce.test.PgOnceTest}
 * gives it to JUnit tests; {@link org.pgonce.test.RecordingTx} is for tests without a database.
 */
@NullMarked
package org.pgonce.test;

import org.jspecify.annotations.NullMarked;
