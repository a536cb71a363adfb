package org.pgonce.spring.internal;

import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;

/** The channels that are beans, by their names. */
public final class Channels {

  private static final int MOST_TYPOS = 3;

  private final Map<String, Channel<?>> byName = new TreeMap<>();

  /**
   * @param beans by the beans' names
   * @throws IllegalStateException if two channels have the same name
   */
  Channels(Map<String, Channel<?>> beans) {
    var names = new HashMap<String, String>();
    beans.forEach(
        (bean, channel) -> {
          var other = names.put(channel.name(), bean);
          if (other != null) {
            throw new Refusal(
                "beans %s and %s are both a channel named %s: leave one of them"
                    .formatted(other, bean, channel.name()));
          }
          byName.put(channel.name(), channel);
        });
  }

  public Collection<Channel<?>> all() {
    return byName.values();
  }

  Channel<?>[] toArray() {
    return byName.values().toArray(new Channel<?>[0]);
  }

  /** Null if there is none. */
  @Nullable Channel<?> find(String name) {
    return byName.get(name);
  }

  /**
   * @param where names what asks for it, in an error
   * @throws IllegalStateException if there is none
   */
  Channel<?> require(String name, String where) {
    var channel = byName.get(name);
    if (channel == null) {
      throw unknown(name, where, advice(name));
    }
    return channel;
  }

  /**
   * As {@link #require}, for a name in a property: environment variables have no way to write some
   * characters, so only letters and digits count where no channel has the very name.
   */
  Channel<?> requireRelaxed(String name, String where) {
    var channel = byName.get(name);
    if (channel != null) {
      return channel;
    }
    var alike =
        byName.keySet().stream().filter(other -> relaxed(other).equals(relaxed(name))).toList();
    if (alike.size() != 1) {
      throw unknown(name, where, adviceIfCut(name).orElseGet(() -> advice(name)));
    }
    return require(alike.get(0), where);
  }

  private static String relaxed(String name) {
    return name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]", "");
  }

  private static Refusal unknown(String name, String where, String advice) {
    return new Refusal(
        "%s names channel %s, but no channel bean has that name. %s"
            .formatted(where, name, advice));
  }

  /** A property's name ends at a dot, and an environment variable's at an underscore. */
  private Optional<String> adviceIfCut(String name) {
    return byName.keySet().stream()
        .filter(other -> Stream.of(".", "-", "_").anyMatch(cut -> other.startsWith(name + cut)))
        .findFirst()
        .map(
            whole ->
                "In a property a name with a dot stands in brackets: pgonce.channels[%s]. In an environment variable it has letters and digits alone: PGONCE_CHANNELS_%s_CONCURRENCY, for example. %s"
                    .formatted(whole, relaxed(whole).toUpperCase(Locale.ROOT), advice(name)));
  }

  private String advice(String name) {
    var near = nearest(name);
    return byName.isEmpty()
        ? "There is none at all: define it as a bean (@Bean Channel<T>)"
        : near.isEmpty()
            ? "There are: " + String.join(", ", byName.keySet())
            : "Did you mean " + String.join(" or ", near) + "?";
  }

  private List<String> nearest(String name) {
    return byName.keySet().stream()
        .filter(other -> typos(name, other) <= MOST_TYPOS)
        .sorted(Comparator.comparingInt(other -> typos(name, other)))
        .limit(3)
        .toList();
  }

  /** The Levenshtein distance. */
  private static int typos(String one, String other) {
    var above = new int[other.length() + 1];
    for (var i = 1; i <= other.length(); i++) {
      above[i] = i;
    }
    for (var row = 1; row <= one.length(); row++) {
      var diagonal = above[0];
      above[0] = row;
      for (var i = 1; i <= other.length(); i++) {
        var replaced = diagonal + (one.charAt(row - 1) == other.charAt(i - 1) ? 0 : 1);
        diagonal = above[i];
        above[i] = Math.min(replaced, 1 + Math.min(above[i], above[i - 1]));
      }
    }
    return above[other.length()];
  }
}
