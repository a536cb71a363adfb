package org.pgonce.records.internal.source;

import java.util.List;
import java.util.Locale;
import org.pgonce.internal.store.ChannelNames;
import org.pgonce.records.TableName;
import org.pgonce.records.internal.catalog.Column;

/** A record that reads the rows of a table, and the channel that uses it: one source file. */
public final class RecordSource {

  private static final int LONGEST_CHANNEL = 48;

  private static final String FILE =
      """
      // A row of table %s, as it was when this was printed.
      // What each type of PostgreSQL is in Java is told by the package org.pgonce.records.

      %s
      %s""";

  private RecordSource() {}

  /**
   * The source.
   *
   * @param wanted the table as the channel is to name it
   * @param columns all of the table's
   */
  public static String of(TableName wanted, List<Column> columns) {
    var types = new SourceTypes();
    var name = types.nameOf(new TableName(null, wanted.table()).toString());
    var components = new Components(columns, types);
    var body = new StringBuilder();
    types.declarations().forEach(declaration -> body.append(declaration).append('\n'));
    body.append(channel(wanted, name, types));
    var record = components.record(name, body.toString());
    return FILE.formatted(JavaLiteral.of(wanted.toString()), types.imports(), record);
  }

  private static String channel(TableName table, String record, SourceTypes types) {
    var own = ownName(table);
    return """
        public static final %s<%s> INSERTED =
            TriggerChannel.on(%s, %s.class).afterInsert()%s.build();
        """
        .formatted(
            types.used("TriggerChannel"),
            record,
            JavaLiteral.of(table.toString()),
            record,
            own.isEmpty() ? "" : ".named(\"" + own + "\")");
  }

  /** A name for the channel where the table's cannot make one; empty where it can. */
  private static String ownName(TableName table) {
    var schema = table.schema() == null ? "" : table.schema() + ".";
    var byDefault = schema + table.table() + "_inserted";
    try {
      ChannelNames.requireValid("channel", byDefault);
      return "";
    } catch (IllegalArgumentException e) {
      var plain =
          (schema + table.table())
              .toLowerCase(Locale.ROOT)
              .replaceAll("[^a-z0-9_.]+", "_")
              .replaceAll("^[^a-z]+", "");
      var room = LONGEST_CHANNEL - "_inserted".length();
      return (plain.isEmpty() ? "row" : plain.substring(0, Math.min(room, plain.length())))
          + "_inserted";
    }
  }
}
