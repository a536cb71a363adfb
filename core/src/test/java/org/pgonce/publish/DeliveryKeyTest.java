package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.pgonce.DeliveryKey;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.Seed;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.json.JsonMapper;

/** Keys of several parts: no two lists of parts make the same, and SQL makes the same as Java. */
@PgTest(PgOnceInstalled.class)
class DeliveryKeyTest {

  private static final List<String> ATOMS =
      List.of("a", "b", ":", "%", "%3A", "%25", "3A", "\\", "'", "\"", " ", "é", "😀", "\n");

  @Test
  void s12_keysAreReadableAndInjective() {
    assertThat(DeliveryKey.of("campaign", "cmp_42", "sub_7")).isEqualTo("campaign:cmp_42:sub_7");
    assertThat(DeliveryKey.of("a:b", "c")).isEqualTo("a%3Ab:c");
    assertThat(DeliveryKey.of("a", "b:c")).isEqualTo("a:b%3Ac");
    assertThat(DeliveryKey.of("")).isEqualTo("%");
    assertThat(DeliveryKey.of("", "")).isEqualTo("%:%");
    assertThat(DeliveryKey.of("%")).isEqualTo("%25");
  }

  @Test
  void s12_anyPartsCanBeReadBackFromTheirKeyAndSqlMakesTheSame(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install();
    var random = Seed.random();
    var seen = new HashMap<String, List<String>>();
    try (var connection = database.dataSource().getConnection();
        var statement =
            connection.prepareStatement(
                """
                select pgonce.delivery_key(variadic array(
                  select p.part from json_array_elements_text(?::json) with ordinality as p (part, n) order by p.n))
                """)) {
      for (var round = 0; round < 2_000; round++) {
        var parts = parts(random);
        var key = DeliveryKey.of(parts.toArray(String[]::new));
        assertThat(decoded(key)).isEqualTo(parts);
        var other = seen.put(key, parts);
        assertThat(other == null || other.equals(parts)).isTrue();
        statement.setString(1, JsonMapper.shared().writeValueAsString(parts));
        try (var row = statement.executeQuery()) {
          row.next();
          assertThat(row.getString(1)).isEqualTo(key);
        }
      }
    }
  }

  private static List<String> parts(Random random) {
    var parts = new ArrayList<String>();
    for (var left = 1 + random.nextInt(4); left > 0; left--) {
      var part = new StringBuilder();
      for (var atoms = random.nextInt(4); atoms > 0; atoms--) {
        part.append(ATOMS.get(random.nextInt(ATOMS.size())));
      }
      parts.add(part.toString());
    }
    return parts;
  }

  private static List<String> decoded(String key) {
    var parts = new ArrayList<String>();
    for (var part : key.split(":", -1)) {
      parts.add(part.equals("%") ? "" : part.replace("%3A", ":").replace("%25", "%"));
    }
    return parts;
  }

  @Test
  void s12_whatMakesNoKeyIsRefusedBeforeAnySql(TestDatabase database) throws Exception {
    var refused =
        Map.<String, String[]>of(
            "at least one part", new String[0],
            "has 502 characters", new String[] {"x".repeat(500), ""},
            "a NUL at character 1", new String[] {"a\0"},
            "a lone surrogate at character 2", new String[] {"a", "\uD800"});
    refused.forEach(
        (why, parts) ->
            assertThatThrownBy(() -> DeliveryKey.of(parts))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(why));
    assertThat(DeliveryKey.of("😀".repeat(500))).hasSize(1_000);
    assertThatThrownBy(() -> PublishOptions.DEFAULT.withDeliveryKey(""))
        .hasMessage("deliveryKey has 0 characters, not between 1 and 500");
    assertThatThrownBy(() -> PublishOptions.DEFAULT.withOrderKey("x".repeat(501)))
        .hasMessage("orderKey has 501 characters, not between 1 and 500");
    PgOnce.using(database.dataSource()).install();
    for (var parts : List.of("variadic '{}'::text[]", "'a', null", "repeat('x', 501)")) {
      assertThatThrownBy(() -> database.queryString("select pgonce.delivery_key(" + parts + ")"))
          .hasMessageContaining("no delivery key can be made");
    }
  }
}
