/**
 * The console: pages with which the person on call sees what is going on, and acts.
 *
 * <p>Who does what, in the order in which a request passes:
 *
 * <ol>
 *   <li><b>Parses</b>: an adapter makes a {@link org.pgonce.console.Request} of what came in,
 *       within bounds. {@link org.pgonce.console.ConsoleServer} is one, over the JDK's server; the
 *       Spring Boot starters have one over servlets.
 *   <li><b>Guards</b>: {@code internal.web.Gate} refuses foreign hosts, wants the token where there
 *       is one, gives each browser a session, and refuses what is posted without the session's own
 *       CSRF token. What passes has a {@link org.pgonce.console.Visitor}. An application that
 *       guards its pages itself makes its own Visitor, and needs no gate.
 *   <li><b>Routes</b>: {@code internal.site} has a class per page. It asks the database ({@code
 *       internal.look}, bounded: statement timeout, LIMIT, keyset paging) and makes a page of
 *       sections.
 *   <li><b>Acts</b>: {@code internal.act}. Whether something may be done is asked of the database
 *       at each request, whatever buttons were shown.
 *   <li><b>Renders</b>: {@code internal.page} has the sections, and a jte template for each. jte
 *       escapes all that is put in; no template has an unescaped output, a script or a style.
 * </ol>
 *
 * <p>Plots are SVG that the server makes, and the script asks for the page again and puts its newer
 * parts in place: so both work without it, and no library for plots or partial pages is needed.
 * What a template takes is checked when the build compiles it. At run time jte is 51 KiB, which
 * need no compiler.
 */
@NullMarked
package org.pgonce.console;

import org.jspecify.annotations.NullMarked;
