package org.pgonce.internal.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SqlTokenTest {

  private static final String[] PARTS = {
    "'", "\"", "$", "$a$", "E'", "\\", "--", "/*", "*/", "\n", " ", "a", "U&\"", "1", ";", "(", "é"
  };

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
