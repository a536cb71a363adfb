package org.pgonce.internal.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.internal.text.SqlToken.Kind.COMMENT;
import static org.pgonce.internal.text.SqlToken.Kind.DOLLAR_QUOTED;
import static org.pgonce.internal.text.SqlToken.Kind.ESCAPED;
import static org.pgonce.internal.text.SqlToken.Kind.IDENTIFIER;
import static org.pgonce.internal.text.SqlToken.Kind.OTHER;
import static org.pgonce.internal.text.SqlToken.Kind.SPACE;
import static org.pgonce.internal.text.SqlToken.Kind.TEXT;
import static org.pgonce.internal.text.SqlToken.Kind.WORD;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SqlTokenTest {

  private static final String[] PARTS = {
    "'",
    "\"",
    "$",
    "$a$",
    "E'",
    "\\",
    "--",
    "/*",
    "*/",
    "\n",
    " ",
    "a",
    "U&\"",
    "1",
    ";",
    "(",
    "é",
    "e",
    "u&",
    "-",
    "/",
    "*",
    "&",
    "_",
    "$1",
    "\r",
    "\u000B",
    "\f",
    "\u001C",
    "\u007F",
    "\u00A0",
    "\ud83d\ude00",
    "\ud83d",
    "set_config",
    "''",
    "\\'",
    "$$",
    "@",
    "[",
    "`",
    "{",
    "\0"
  };

  private static final String LETTERS = "A-Za-z_\\x{80}-\\x{10FFFF}";
  private static final String QUOTED_NAME = "\"(?:[^\"]++|\"\")*+\"?+";

  /** One after the other, which is plain and slow. */
  private static final Map<SqlToken.Kind, Pattern> IN_ORDER = new LinkedHashMap<>();

  static {
    IN_ORDER.put(ESCAPED, plain("[Ee]'(?:[^'\\\\]++|''|\\\\.)*+['\\\\]?+"));
    IN_ORDER.put(TEXT, plain("'(?:[^']++|'')*+'?+"));
    IN_ORDER.put(IDENTIFIER, plain(QUOTED_NAME));
    IN_ORDER.put(
        DOLLAR_QUOTED,
        plain("(\\$(?:[" + LETTERS + "][" + LETTERS + "0-9]*+)?+\\$).*?(?:\\1|\\z)"));
    IN_ORDER.put(WORD, plain("[Uu]&" + QUOTED_NAME + "|[" + LETTERS + "][" + LETTERS + "0-9$]*+"));
    IN_ORDER.put(COMMENT, plain("--[^\\n\\r]*+|/\\*"));
    IN_ORDER.put(SPACE, plain("[ \\t-\\r]++"));
    IN_ORDER.put(OTHER, plain("."));
  }

  private static Pattern plain(String pattern) {
    return Pattern.compile(pattern, Pattern.DOTALL);
  }

  private static List<SqlToken> inOrder(String sql) {
    var tokens = new ArrayList<SqlToken>();
    for (int at = 0, end; at < sql.length(); at = end) {
      var rest = sql.substring(at);
      var kind =
          IN_ORDER.keySet().stream()
              .filter(one -> IN_ORDER.get(one).matcher(rest).lookingAt())
              .findFirst()
              .orElseThrow();
      var matcher = IN_ORDER.get(kind).matcher(rest);
      assertThat(matcher.lookingAt()).isTrue();
      end = rest.startsWith("/*") ? endOfBlock(sql, at) : at + matcher.end();
      tokens.add(new SqlToken(kind, sql.substring(at, end)));
    }
    return tokens;
  }

  private static int endOfBlock(String sql, int from) {
    var depth = 0;
    for (var at = from; at < sql.length(); at++) {
      var step = sql.startsWith("/*", at) ? 1 : sql.startsWith("*/", at) ? -1 : 0;
      depth += step;
      at += Math.abs(step);
      if (step < 0 && depth == 0) {
        return at + 1;
      }
    }
    return sql.length();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/* a /* b */ c */ select 1 /* open /* twice */",
        "/*/ select 1 */ 2 */",
        "select 1 -- it's\rcommit -- end",
        "select $a$ $b$ $A$ $a$, $$ $a$ $$, $1, a$1$, $1$ x, $é$ $e$ $é$, $a b$",
        "select $$ open, $a$ 'commit'",
        "select E'a\\'b''c', e'\\\\', 'a\\', E'open\\",
        "select U&\"d\\0061\"\"t\", u&'x', U&x, u & \"a\", \"open\"\"",
        "select 'a''b' 'c'\n'd', n'x', b'1', 'open",
        "select a->>'b', a#>>'{c}', -1 - -2, 4/2, a||b, x::int, ?|? @> ?, a-- b",
        "{call p(?, ?)}; {? = call f()}",
        "set\flocal\u000Ba = 1;\u00A0set x = \ud83d\ude00 \ud83d",
        "insert into t values (1, 'a'), (?, ?);;commit",
      })
  void h44_eachPartIsTheOneThatComesFirstInOrder(String sql) {
    assertThat(SqlToken.of(sql)).isEqualTo(inOrder(sql));
  }

  /** Whatever is not closed, or closed twice. */
  @Test
  void allPartsTogetherAreTheString() {
    var seed = Long.getLong("pgonce.test.seed", System.nanoTime());
    var random = new Random(seed);
    for (var n = 0; n < 20_000; n++) {
      var sql =
          random
              .ints(random.nextInt(12), 0, PARTS.length)
              .mapToObj(i -> PARTS[i])
              .collect(Collectors.joining());
      var tokens = SqlToken.of(sql);
      assertThat(tokens.stream().map(SqlToken::text).collect(Collectors.joining()))
          .as("-Dpgonce.test.seed=%d", seed)
          .isEqualTo(sql);
      assertThat(tokens).as("-Dpgonce.test.seed=%d", seed).isEqualTo(inOrder(sql));
      assertThat(tokens).noneMatch(token -> token.text().isEmpty());
      tokens.forEach(token -> assertThat(token.text()).contains(token.content()));
    }
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {
        "'it''s', TEXT, it''s",
        "E'it\\'s', ESCAPED, it\\'s",
        "e'a', ESCAPED, a",
        "\"a\"\"b\", IDENTIFIER, a\"\"b",
        "U&\"a\", WORD, U&\"a\"",
        "$x$a $$ b$x$, DOLLAR_QUOTED, a $$ b",
        "$$$$, DOLLAR_QUOTED, ``",
        "/* a /* b */ */, COMMENT, /* a /* b */ */",
        "a$b$, WORD, a$b$",
        "$, OTHER, $",
      })
  void aPartHasItsKindAndContent(String sql, SqlToken.Kind kind, String content) {
    var tokens = SqlToken.of(sql);
    assertThat(tokens).containsExactly(new SqlToken(kind, sql));
    assertThat(tokens.get(0).content()).isEqualTo(content);
  }
}
