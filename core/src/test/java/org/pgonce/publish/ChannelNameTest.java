package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;

/** H30: a name is taken to the letter or refused, never folded, cut or merged. */
class ChannelNameTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "Orders",
        "orders ",
        "1st",
        "_x",
        "größe",
        "a\"b",
        "a;drop table x",
        "a'b",
        "a\nb",
        "日本",
        "a_name_of_forty_nine_bytes_which_is_one_more_than_x",
        "sixty_four_bytes_long_sixty_four_bytes_long_sixty_four_bytes_lon"
      })
  void h30_namesThatPostgresqlCouldConfuseAreRefused(String name) {
    assertThatThrownBy(() -> Channel.of(name, String.class))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("channel name \"" + name + "\"")
        .hasMessageContaining("1 to 48 characters");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a",
        "orders",
        "billing.invoice-created_2",
        "a_name_of_forty_eight_bytes_just_as_long_as_it_g"
      })
  void h30_othersAreTakenToTheLetter(String name) {
    assertThat(Channel.of(name, String.class).name()).isEqualTo(name);
  }

  @Test
  void h30_theLongestNamePlusPrefixFitsPostgresql() {
    assertThat(("pgonce_" + "x".repeat(48)).length()).isLessThan(64);
  }
}
