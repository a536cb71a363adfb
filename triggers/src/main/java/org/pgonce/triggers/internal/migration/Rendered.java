package org.pgonce.triggers.internal.migration;

import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** One migration's scripts as tools take them. */
public final class Rendered {

  private static final Pattern VERSION = Pattern.compile("[0-9]{1,18}(?:[._][0-9]{1,18})*");
  private static final Pattern DESCRIPTION = Pattern.compile("[A-Za-z0-9]+(?:[ _-][A-Za-z0-9]+)*");
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9_.@-]*");
  private static final int LONGEST_DESCRIPTION = 150;

  private Rendered() {}

  /**
   * A file's name by Flyway's rules.
   *
   * @param prefix V or U
   */
  public static String flywayName(char prefix, String version, String description) {
    if (!VERSION.matcher(version).matches()) {
      throw new IllegalArgumentException(
          "Flyway version «%s» is not one: digits, with dots or underscores between them, for example 7 or 2026.11.21"
              .formatted(version));
    }
    if (!DESCRIPTION.matcher(description).matches() || description.length() > LONGEST_DESCRIPTION) {
      throw new IllegalArgumentException(
          "Flyway description «%s» is not one: 1 to %d letters and digits of ASCII, with single blanks, underscores or hyphens between them"
              .formatted(description, LONGEST_DESCRIPTION));
    }
    return prefix + version + "__" + description.replace(' ', '_') + ".sql";
  }

  /** A changelog of one changeset. */
  public static String liquibase(String author, String id, String up, String down) {
    requireName("author", author);
    requireName("id", id);
    var rollback =
        down.isEmpty()
            ? "--rollback empty\n"
            : ToolProof.withoutEmptyLines(down)
                .lines()
                .map(line -> "--rollback " + line + "\n")
                .collect(Collectors.joining());
    return """
        --liquibase formatted sql

        --changeset %s:%s splitStatements:false stripComments:false rollbackSplitStatements:false
        %s
        """
            .formatted(author, id, up)
        + rollback;
  }

  private static void requireName(String what, String name) {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "Liquibase %s «%s» is not one: a letter or digit of ASCII, then those and _ . @ -"
              .formatted(what, name));
    }
  }
}
