package org.pgonce.cli.terminal;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.sql.Rows;
import org.pgonce.operations.internal.text.Printable;
import picocli.CommandLine.Option;

/** How a command prints what it has found or done. */
public final class Output {

  private enum Format {
    table,
    json
  }

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FORMAT",
      defaultValue = "table",
      description = "table, or json: one document on stdout. Default: table")
  private Format format = Format.table;

  public boolean isJson() {
    return format == Format.json;
  }

  /** Rows: all their columns in JSON, these in the table. */
  public void print(Terminal terminal, Rows rows, String none, String... inTable) {
    if (isJson()) {
      terminal.out().println(Json.of(rows.objects()));
    } else if (rows.isEmpty()) {
      terminal.out().println(none);
    } else {
      terminal.out().print(Table.of(inTable.length == 0 ? rows : rows.only(inTable)));
    }
  }

  /** Rows whose texts are sentences, one below the other. */
  public void printUpright(Terminal terminal, Rows rows, String none) {
    if (isJson()) {
      terminal.out().println(Json.of(rows.objects()));
    } else if (rows.isEmpty()) {
      terminal.out().println(none);
    } else {
      terminal.out().print(Table.upright(rows));
    }
  }

  /** What was done: an object in JSON, a sentence for people. */
  public void print(Terminal terminal, Map<String, ? extends @Nullable Object> done, String line) {
    terminal.out().println(isJson() ? Json.of(done) : Printable.lines(line));
  }
}
