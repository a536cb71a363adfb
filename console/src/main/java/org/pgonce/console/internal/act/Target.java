package org.pgonce.console.internal.act;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.operations.internal.sql.ArrayText;
import org.pgonce.operations.internal.sql.LookStatements;

/**
 * On what something is done: a channel, or some of what is in it.
 *
 * @param subscription null: all
 * @param ids empty: all that fit the rest; of what waits, all that failed
 * @param reason of dead letters; null: any
 * @param error a part of the error; null: any
 * @param group the MD5 of the whole error of dead letters, as {@link Queries#DEAD_GROUPS} has it
 * @param before only what died before that time, as PostgreSQL writes it; null: any
 * @param upTo only ids up to this one; null: any
 */
public record Target(
    String channel,
    @Nullable String subscription,
    List<Long> ids,
    @Nullable String reason,
    @Nullable String error,
    @Nullable String group,
    @Nullable String before,
    @Nullable Long upTo) {

  public static final int MOST_IDS = 1_000;

  public Target {
    ids = List.copyOf(ids);
    if (ids.size() > MOST_IDS) {
      throw new IllegalArgumentException("%,d ids: at most %,d".formatted(ids.size(), MOST_IDS));
    }
  }

  /** The parameters of {@link Queries#DEAD_FITS}. */
  public List<@Nullable String> deadLetters() {
    var array = ids.isEmpty() ? null : ArrayText.of(ids);
    var pattern = pattern();
    return new ArrayList<>(
        Arrays.<@Nullable String>asList(
            channel,
            array,
            array,
            subscription,
            reason,
            pattern,
            pattern,
            null,
            before,
            group,
            group,
            upTo == null ? null : String.valueOf(upTo)));
  }

  /** The parameters of {@link LookStatements#FAILED_FITS}. */
  List<@Nullable String> failed() {
    var pattern = pattern();
    return Arrays.<@Nullable String>asList(channel, subscription, pattern, pattern);
  }

  /** For LIKE; null: any error. */
  @Nullable String pattern() {
    return error == null ? null : "%" + escaped(error) + "%";
  }

  /** A text as a pattern of LIKE that only fits it. */
  private static String escaped(String text) {
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_");
  }

  /** What a form hands on, so that the same target comes back; without the ids. */
  public Map<String, String> fields() {
    var fields = new LinkedHashMap<String, String>();
    fields.put("channel", channel);
    put(fields, "subscription", subscription);
    put(fields, "reason", reason);
    put(fields, "error", error);
    put(fields, "group", group);
    put(fields, "before", before);
    put(fields, "upTo", upTo == null ? null : String.valueOf(upTo));
    return fields;
  }

  private static void put(Map<String, String> fields, String name, @Nullable String value) {
    if (value != null) {
      fields.put(name, value);
    }
  }

  /** The same, and nothing that died since. */
  public Target before(String time) {
    return new Target(channel, subscription, ids, reason, error, group, time, upTo);
  }

  /** The same, and no id beyond this one. */
  public Target upTo(long id) {
    return new Target(channel, subscription, ids, reason, error, group, before, id);
  }
}
