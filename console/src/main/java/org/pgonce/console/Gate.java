package org.pgonce.console;

import java.util.List;
import java.util.Locale;
import java.util.Set;
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

  /** Headers that a proxy adds, beside {@code X-Forwarded-}. */
  private static final Set<String> PROXIED = Set.of("forwarded", "via", "x-real-ip");

  /** What is refused by its headers alone, before a body is read; null: nothing is. */
  @Nullable Response refusal(Request request) {
    if (!hosts.has(request.header("host"))) {
      return Response.text(
          421, "The console does not answer to this name: pgonce console --name adds one.\n");
    } else if (token == null && cameThroughAProxy(request)) {
      return Response.text(
          403,
          "This came through a proxy, whose users would be taken for those of this machine. Start the console with --name: then it asks for a token.\n");
    } else if (!request.isPost()) {
      return null;
    } else if (!isOurs(request)) {
      return forbidden(request, "The form is not of this console.");
    }
    return isEntering(request) || sessionOf(request) != null
        ? null
        : forbidden(request, "The session has ended: open the page again.");
  }

  /** One that {@link #refusal} lets through. */
  Response answer(Request request) {
    var file = console.file(request);
    if (file != null) {
      return file;
    }
    var session = sessionOf(request);
    if (request.isPost()) {
      return post(request, session);
    } else if (token != null && request.parameter("token") != null) {
      // Never left in the address, where others read it.
      return session != null
          ? Response.seeOther("/")
          : entered(request, request.parameter("token"));
    } else if (session != null) {
      return console.answer(request, visitor(session));
    } else if (token != null) {
      return refused(request);
    } else if (request.path().equals(List.of("act"))) {
      return entered(request); // a stranger's link: not even a dry run for it
    }
    var fresh = sessions.begin();
    return withCookie(
        request, console.answer(request, visitor(String.valueOf(sessions.of(fresh)))), fresh);
  }

  private Response post(Request request, @Nullable String session) {
    if (isEntering(request)) {
      return entered(request, request.field("token"));
    } else if (session == null) {
      return forbidden(request, "The session has ended: open the page again.");
    } else if (!Sessions.isSame(sessions.csrfToken(session), request.field(CSRF))) {
      return forbidden(request, "The form is of another session: open the page again.");
    }
    return console.answer(request, visitor(session));
  }

  private boolean isEntering(Request request) {
    return token != null && request.path().equals(ENTER);
  }

  private static boolean cameThroughAProxy(Request request) {
    return request.headers().keySet().stream()
        .anyMatch(name -> PROXIED.contains(name) || name.startsWith("x-forwarded-"));
  }

  /**
   * Beside the token of the form: what another page of the same host, on another port, could have
   * planted is a cookie of its own session, with the form of that session.
   */
  private boolean isOurs(Request request) {
    var origin = request.header("origin");
    if (origin == null || !request.isOfThisOrigin()) {
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

  private Response entered(Request request, @Nullable String given) {
    return token != null && Sessions.isSame(token, given) ? entered(request) : refused(request);
  }

  /** Always a new session: one that the browser brought is never made to count. */
  private Response entered(Request request) {
    return withCookie(request, Response.seeOther("/"), sessions.begin());
  }

  private Response withCookie(Request request, Response response, String value) {
    return response.with(
        "Set-Cookie",
        cookie
            + "="
            + value
            + "; Path=/; HttpOnly; SameSite=Strict"
            + (isBehindTls(request) ? "; Secure" : ""));
  }

  /** As the proxy says; one that says it though there is none only keeps its own cookie back. */
  private static boolean isBehindTls(Request request) {
    var forwarded = request.header("forwarded");
    return "https".equalsIgnoreCase(request.header("x-forwarded-proto"))
        || (forwarded != null && forwarded.toLowerCase(Locale.ROOT).contains("proto=https"));
  }

  private Response refused(Request request) {
    return console.stranger(request, 401, "Who is there?", new TokenForm("/enter"));
  }

  private Response forbidden(Request request, String why) {
    return console.refuse(request, 403, "Not allowed", why);
  }

  private @Nullable String sessionOf(Request request) {
    return sessions.of(cookieOf(request));
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
