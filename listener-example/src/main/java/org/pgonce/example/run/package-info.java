/**
 * Author rows in, one first post per author out, while listener processes are killed. {@link
 * org.pgonce.example.run.WelcomePosts} is what an application would have; the rest runs it, breaks
 * it and counts.
 */
@NullMarked
package org.pgonce.example.run;

import org.jspecify.annotations.NullMarked;
