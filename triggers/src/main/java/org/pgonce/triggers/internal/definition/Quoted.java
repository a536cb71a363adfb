package org.pgonce.triggers.internal.definition;

import java.util.List;
import java.util.stream.Collectors;
import org.pgonce.internal.store.ChannelSql;
import org.pgonce.records.TableName;

/** Names and texts in SQL. */
public final class Quoted {

  private Quoted() {}

  public static String identifier(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }

  public static String table(TableName name) {
    var schema = name.schema();
    return (schema == null ? "" : identifier(schema) + ".") + identifier(name.table());
  }

  public static String literal(String text) {
    return ChannelSql.literal(text);
  }

  /** An array of texts. */
  public static String array(List<String> texts) {
    return texts.stream()
        .map(Quoted::literal)
        .collect(Collectors.joining(", ", "ARRAY[", "]::text[]"));
  }

  /** A text to the letter, within a tag that it does not have. */
  static String dollar(String text) {
    var tag = "$pgonce$";
    for (var n = 1; text.contains(tag.substring(0, tag.length() - 1)); n++) {
      tag = "$pgonce" + n + "$";
    }
    return tag + text + tag;
  }
}
