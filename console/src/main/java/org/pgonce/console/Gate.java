package org.pgonce.console;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.page.Section.TokenForm;
import org.pgonce.console.internal.web.Hosts;
import org.pgonce.console.internal.web.Sessions;

/**
 * Who gets in, where no application guards the pages.
 *
 * @param token what a browser has to bring once; null: everyone who reaches the console may look
 * @param cookie its name; cookies are of a host, not of a port, so the port is in it
 * @param person for the operation log
 */
record Gate(
    Console console,
    Hosts hosts,
    Sessions sessions,
    @Nullable String token,
    String cookie,
    @Nullable String person) {

  private static final String CSRF = "csrf";
  private static final List<String> ENTER = List.of("enter");

  Response answer(Request request) {
    if (!hosts.has(request.header("host"))) {
      return Response.text(
          421, "The console does not answer to this name: pgonce console --name adds one.\n");
    }
    var file = console.file(request);
    if (file != null) {
      return file;
    }
    var session = sessions.of(cookieOf(request));
    if (request.isPost()) {
      return post(request, session);
    } else if (session != null) {
      return console.answer(request, visitor(session));
    } else if (token != null) {
      return Sessions.isSame(token, request.parameter("token")) ? entered() : refused(request);
    } else if (request.path().equals(List.of("act"))) {
      return entered(); // a stranger's link: not even a dry run for it
    }
    var fresh = sessions.begin();
    return withCookie(console.answer(request, visitor(String.valueOf(sessions.of(fresh)))), fresh);
  }

  private Response post(Request request, @Nullable String session) {
    if (!isOurs(request)) {
      return forbidden(request, "The form is not of this console.");
    } else if (token != null && request.path().equals(ENTER)) {
      return Sessions.isSame(token, request.field("token")) ? entered() : refused(request);
    } else if (session == null) {
      return forbidden(request, "The session has ended: open the page again.");
    } else if (!Sessions.isSame(sessions.csrfToken(session), request.field(CSRF))) {
      return forbidden(request, "The form is of another session: open the page again.");
    }
    return console.answer(request, visitor(session));
  }

  /**
   * Beside the token of the form: what another page of the same host, on another port, could have
   * planted is a cookie of its own session, with the form of that session.
   */
  private boolean isOurs(Request request) {
    var origin = request.header("origin");
    if (origin == null) {
      return false;
    }
    var host = hostOf(request);
    var given = origin.toLowerCase(Locale.ROOT);
    // A proxy that speaks TLS stands in front at most where a token is asked for.
    return given.equals("http://" + host) || (token != null && given.equals("https://" + host));
  }

  private static String hostOf(Request request) {
    return String.valueOf(request.header("host")).toLowerCase(Locale.ROOT);
  }

  private Visitor visitor(String session) {
    return new Visitor(person, true, true, CSRF, sessions.csrfToken(session));
  }

  /** Always a new session: one that the browser brought is never made to count. */
  private Response entered() {
    return withCookie(Response.seeOther("/"), sessions.begin());
  }

  private Response withCookie(Response response, String value) {
    return response.with(
        "Set-Cookie", cookie + "=" + value + "; Path=/; HttpOnly; SameSite=Strict");
  }

  private Response refused(Request request) {
    return console.stranger(request, 401, "Who is there?", new TokenForm("/enter"));
  }

  private Response forbidden(Request request, String why) {
    return console.refuse(request, 403, "Not allowed", why);
  }

  private @Nullable String cookieOf(Request request) {
    var header = request.header("cookie");
    if (header == null) {
      return null;
    }
    for (var one : header.split("[;,]", -1)) {
      var pair = one.strip().split("=", 2);
      if (pair.length == 2 && pair[0].equals(cookie)) {
        return pair[1];
      }
    }
    return null;
  }
}
