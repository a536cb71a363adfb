package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class TwoColumnsTest {

  private static JsonNode json(String text) {
    return JsonMapper.shared().readTree(text.replace('\'', '"'));
  }

  @Test
  void mediansAndRatiosStandSideBySide() {
    var shape =
        "{'rounds':3,'conditions':{'load_before':1.5},'figures':{'pgonce':{'p50_us':{'median':%s,'min':1.0,'max':2.0},'p50_ratio':%s}}}";
    var lines =
        new TwoColumns()
            .add("latency", json(shape.formatted(583.2, 2.256)), json(shape.formatted(1234.5, 1.0)))
            .lines();
    assertThat(lines.stream().map(line -> line.strip().split("\\s{3,}")))
        .containsExactly(
            new String[] {"fsync on", "off"},
            new String[] {"latency pgonce p50_us", "583", "1,235"},
            new String[] {"latency pgonce p50_ratio", "2.26", "1.00"});
  }

  @Test
  void whatStandsInAnArrayIsToldApart() {
    var shape =
        "{'figures':[{'kind':'pgonce','writers':16,'listener':false,'to_storing':%s},{'kind':'pgonce','writers':64,'listener':false,'to_storing':%s}]}";
    var lines =
        new TwoColumns()
            .add("writers", json(shape.formatted(0.5, 0.4)), json(shape.formatted(0.3, 0.2)))
            .lines();
    assertThat(lines)
        .anyMatch(
            line -> line.matches("writers pgonce writers 16 listener false to_storing +0.50 +0.30"))
        .anyMatch(
            line ->
                line.matches("writers pgonce writers 64 listener false to_storing +0.40 +0.20"));
  }
}
