package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The settings of a function by what they mean. How PostgreSQL keeps a search_path depends on
 * quote_all_identifiers when the function was created: it may have put each name in quotes.
 *
 * @param searchPath the schemas, as they are stored
 * @param others by name
 */
record FunctionSettings(List<String> searchPath, Map<String, String> others) {

  private static final Pattern NAME =
      Pattern.compile("\\s*(?:\"((?:[^\"]|\"\")*)\"|([^\",]*))\\s*(?:,|$)");

  FunctionSettings {
    searchPath = List.copyOf(searchPath);
    others = Map.copyOf(others);
  }

  /**
   * From lines of pg_proc.proconfig.
   *
   * @param settings each as name=value
   */
  static FunctionSettings of(Set<String> settings) {
    var searchPath = new ArrayList<String>();
    var others = new HashMap<String, String>();
    for (var setting : settings) {
      var at = setting.indexOf('=');
      var name = setting.substring(0, at);
      var value = setting.substring(at + 1);
      if (name.equals("search_path")) {
        searchPath.addAll(names(value));
      } else {
        others.put(name, value);
      }
    }
    return new FunctionSettings(searchPath, others);
  }

  private static List<String> names(String list) {
    var names = new ArrayList<String>();
    var name = NAME.matcher(list);
    while (name.regionStart() < list.length() && name.lookingAt()) {
      var quoted = name.group(1);
      names.add(
          quoted != null
              ? quoted.replace("\"\"", "\"")
              : name.group(2).strip().toLowerCase(Locale.ROOT));
      name.region(name.end(), list.length());
    }
    return names;
  }
}
