package org.pgonce.internal.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SqlStatementsTest {

  private static List<String> words(String sql) {
    return SqlToken.statements(sql).stream().map(SqlToken::words).toList();
  }

  private static String firstWords(String sql) {
    return words(sql).stream()
        .filter(words -> !words.isEmpty())
        .map(words -> words.replaceAll(" .*", ""))
        .collect(Collectors.joining(" "));
  }

  @Test
  void severalStatementsInOneString() {
    assertThat(firstWords("select 1; Update t set a = 1 ;; COMMIT"))
        .isEqualTo("select update commit");
    assertThat(firstWords("")).isEmpty();
    assertThat(firstWords(" ; ;")).isEmpty();
  }

  @Test
  void wordsAreLowerCasedAndQuotedIdentifiersKeepTheirQuotes() {
    assertThat(words("ROLLBACK  To\tSavepoint \"My;Point\""))
        .containsExactly("rollback to savepoint \"My;Point\"");
    assertThat(words("\"commit\"")).containsExactly("\"commit\"");
    assertThat(words("savepoint U&\"a\\005fb\"")).containsExactly("savepoint u&\"a\\005fb\"");
    assertThat(words("set local.x = 1")).containsExactly("set local . x");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "select 'a;commit'",
        "select 'it''s;commit'",
        "select E'it\\';commit'",
        "select e'\\\\'';commit'",
        "select N'a;commit', B'0', X'f', U&'\\0441;commit'",
        "select \"a;commit\"",
        "select \"a\"\";commit\"",
        "select $$;commit$$",
        "select $a$;commit$$;commit$a$",
        "select $ü1$;commit$ü1$",
        "select $1, $2",
        "select a$b$, c$b$",
        "select 1 -- ;commit",
        "select 1 --;commit\r, 2",
        "select /* ;commit */ 1",
        "select /* a /* ;commit */ ;commit */ 1",
        "select 1 +-- ;commit",
        "select 'never closed ;commit",
        "select $$never closed ;commit",
        "select /* never closed ;commit",
        "select \"never closed ;commit",
        "select E'never closed\\",
      })
  void whatIsQuotedOrCommentedIsNoStatement(String sql) {
    assertThat(firstWords(sql)).isEqualTo("select");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "select '\\';commit",
        "select 'a\\\\';commit",
        "select 'a'\n'\\';commit",
        "select E'a' '\\';commit",
        "select e 'a\\';commit",
        "select ae'\\';commit",
        "select a$b$;commit--$b$",
        "select a$$;commit--$$",
        "select $1$;commit--$1$",
        "select 1/**/;commit",
        "select /* a /* b */ */ 1;commit",
        "select 1 -- a\n;commit",
        "select 1 -- a\r;commit",
        "select $a$ $b$ $a$;commit",
        "select $$a$$;/* x */-- y\ncommit",
        "select ((1);commit",
        "select \"a\\\";commit",
        "select u&\"a\";commit",
        "select 1;{commit}",
        "select 1;(commit",
      })
  void theEndOfALiteralOrCommentIsFound(String sql) {
    assertThat(firstWords(sql)).startsWith("select commit");
  }

  @Test
  void jdbcEscapesAndParenthesesBeforeTheFirstWordAreSkipped() {
    assertThat(firstWords("{call f(?)}")).isEqualTo("call");
    assertThat(firstWords("{? = call f(?)}")).isEqualTo("call");
    assertThat(firstWords("(select 1) union (select 2)")).isEqualTo("select");
    assertThat(firstWords("/* hint */ -- x\n update t set a = 1")).isEqualTo("update");
  }
}
