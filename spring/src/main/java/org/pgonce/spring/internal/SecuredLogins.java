package org.pgonce.spring.internal;

import jakarta.servlet.http.HttpServletRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.Visitor;
import org.pgonce.spring.PgOnceProperties;
import org.springframework.security.core.Authentication;
import org.springframework.security.web.csrf.CsrfToken;

/**
 * By Spring Security: its login, the login's authorities, its CSRF token. Asks by itself, whatever
 * the application's filter chain lets through.
 */
record SecuredLogins(PgOnceProperties.Console settings) implements ConsoleLogins {

  @Override
  public Access of(HttpServletRequest request) {
    // Null for an anonymous one.
    if (!(request.getUserPrincipal() instanceof Authentication login) || !login.isAuthenticated()) {
      return Access.refused("Log in first.");
    }
    var operates = has(login, settings.operators());
    if (!operates && !has(login, settings.viewers())) {
      return Access.refused(
          "To look takes one of the authorities %s, to operate one of %s."
              .formatted(in(settings.viewers()), in(settings.operators())));
    }
    var csrf = operates ? csrf(request) : null; // asked for its value, it begins a session
    return Access.to(
        csrf == null
            ? new Visitor(login.getName(), false, operates, "", "")
            : new Visitor(
                login.getName(), true, operates, csrf.getParameterName(), csrf.getToken()));
  }

  /** Null where the filter chain protects no form: then nothing is done by one. */
  private static @Nullable CsrfToken csrf(HttpServletRequest request) {
    return request.getAttribute(CsrfToken.class.getName()) instanceof CsrfToken token
        ? token
        : null;
  }

  private static boolean has(Authentication login, List<String> wanted) {
    return login.getAuthorities().stream().anyMatch(one -> wanted.contains(one.getAuthority()));
  }

  private static String in(List<String> authorities) {
    return String.join(", ", authorities);
  }

  @Override
  public String rules() {
    return settings.operate()
        ? "%s may look, %s may operate".formatted(in(settings.viewers()), in(settings.operators()))
        : "for reading only, by %s, payloads by %s"
            .formatted(in(settings.viewers()), in(settings.operators()));
  }
}
