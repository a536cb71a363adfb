package org.pgonce.triggers.internal.install;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class LineDiffTest {

  @Test
  void dotsStandForWhatIsLeftOutBetweenTwoChanges() {
    var before = List.of("a", "b", "c", "d", "e", "", "g", "h", "i", "j");
    var after = List.of("A", "b", "c", "d", "e", "", "g", "h", "J", "j");
    assertThat(LineDiff.between(before, after))
        .containsExactly("- a", "+ A", "  b", "  c", "...", "  g", "  h", "- i", "+ J", "  j");
  }

  @Test
  void whatIsNewHasAPlusAndWhatIsTheSameIsNoChange() {
    assertThat(LineDiff.between(List.of(), List.of("a", ""))).containsExactly("+ a", "+ ");
    assertThat(LineDiff.between(List.of("a", ""), List.of())).containsExactly("- a", "- ");
    assertThat(LineDiff.between(List.of("a"), List.of("a"))).isEmpty();
  }
}
