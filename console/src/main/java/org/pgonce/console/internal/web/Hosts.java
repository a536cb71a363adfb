package org.pgonce.console.internal.web;

import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Which names the console answers to. Another name that leads here may be a stranger's, whose page
 * would be of the same origin then (DNS rebinding). An address is no name, so nobody can have made
 * it lead here.
 *
 * @param names in lower case
 */
public record Hosts(Set<String> names) {

  private static final Pattern ADDRESS =
      Pattern.compile("\\d{1,3}(\\.\\d{1,3}){3}|\\[[0-9a-f:.]+]");
  private static final Pattern PORT = Pattern.compile(":\\d{1,5}$");

  /** Whether the header {@code Host} is of this console. */
  public boolean has(@Nullable String host) {
    if (host == null) {
      return false;
    }
    var name = PORT.matcher(host.toLowerCase(Locale.ROOT)).replaceFirst("");
    return names.contains(name) || ADDRESS.matcher(name).matches();
  }
}
