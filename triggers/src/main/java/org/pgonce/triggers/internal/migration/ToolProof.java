package org.pgonce.triggers.internal.migration;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.pgonce.internal.text.SqlToken;

/**
 * Scripts in which migration tools find nothing that they take for their own, and that mean the
 * same to PostgreSQL. Flyway and Liquibase replace <code>${name}</code> wherever it stands, and
 * Liquibase acts on lines that look like its comments, within texts and function bodies too. Where
 * a text has such a thing, it is written as E'…', with what makes it look so as \\x24 or the like.
 */
public final class ToolProof {

  private static final String KEYWORDS =
      "(?:liquibase|property|changeset|rollback|precondition|comment|validCheckSum|ignore|include|tagDatabase)";
  private static final Pattern COMMAND =
      Pattern.compile(
          "(?<=^|\\n)([ \\t]*)(-+[ \\t]*" + KEYWORDS + "|/\\*[ \\t]*liquibase)",
          Pattern.CASE_INSENSITIVE);
  private static final Pattern HAZARD =
      Pattern.compile("\\$\\{|\\r|" + COMMAND.pattern(), Pattern.CASE_INSENSITIVE);
  // In E'…' a backslash before one of these, itself not escaped: it means nothing.
  private static final Pattern IDLE_BACKSLASH =
      Pattern.compile("(?<!\\\\)((?:\\\\\\\\)*)\\\\(?=\\$\\{|\\r)");
  private static final Pattern EMPTY_LINE = Pattern.compile("\\n([ \\t]*)\\n");

  private ToolProof() {}

  public static String script(String sql) {
    return SqlToken.of(sql).stream()
        .map(token -> HAZARD.matcher(token.text()).find() ? without(token) : token.text())
        .collect(Collectors.joining());
  }

  /** Also without an empty line in a text, whose line a tool, or an editor, may take away. */
  static String withoutEmptyLines(String sql) {
    return SqlToken.of(sql).stream()
        .map(
            token ->
                token.kind() == SqlToken.Kind.SPACE
                    ? token.text().replaceAll("\n{2,}", "\n")
                    : EMPTY_LINE.matcher(token.text()).find() ? without(token) : token.text())
        .collect(Collectors.joining());
  }

  private static String without(SqlToken token) {
    return switch (token.kind()) {
      case TEXT -> escaped(token.content().replace("''", "'"));
      case DOLLAR_QUOTED -> escaped(token.content());
      case ESCAPED ->
          "E'" + neutral(IDLE_BACKSLASH.matcher(token.content()).replaceAll("$1")) + "'";
      case IDENTIFIER ->
          "U&\""
              + token
                  .content()
                  .replace("\\", "\\005c")
                  .replace("$", "\\0024")
                  .replace("\r", "\\000d")
              + "\"";
      case COMMENT ->
          COMMAND
              .matcher(
                  EMPTY_LINE
                      .matcher(token.text())
                      .replaceAll("\n")
                      .replace("${", "$ {")
                      .replace('\r', ' '))
              .replaceAll(
                  match -> Matcher.quoteReplacement(match.group(1) + quoted(match.group(2))));
      case WORD, SPACE, OTHER -> token.text();
    };
  }

  private static String quoted(String command) {
    return command.startsWith("/*") ? "/* :" + command.substring(2) : "-- (" + command + ")";
  }

  private static String escaped(String text) {
    return "E'" + neutral(text.replace("\\", "\\x5c").replace("'", "''")) + "'";
  }

  /** Of the inside of E'…'. */
  private static String neutral(String content) {
    var neutral = content.replace("${", "\\x24{").replace("\r", "\\x0d");
    neutral =
        COMMAND
            .matcher(neutral)
            .replaceAll(
                match ->
                    Matcher.quoteReplacement(
                        match.group(1)
                            + "\\x%02x".formatted((int) match.group(2).charAt(0))
                            + match.group(2).substring(1)));
    return EMPTY_LINE.matcher(neutral).replaceAll("\n$1\\\\x0a");
  }
}
