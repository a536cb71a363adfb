package org.pgonce.jackson;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PayloadRules;
import org.pgonce.PgOnce;
import org.pgonce.spi.PayloadCodec;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * Which types both codecs take, and which they refuse before anything is decoded.
 *
 * @param <N> the library's tree
 */
abstract class DecodableTypesContract<N> {

  final PayloadCodec codec;
  final Class<N> tree;

  /**
   * @param codec with its standard settings
   */
  DecodableTypesContract(PayloadCodec codec, Class<N> tree) {
    this.codec = codec;
    this.tree = tree;
  }

  interface Shape {}

  abstract static class Animal {}

  static final class Unmakeable {
    final String name;

    Unmakeable(String name, int age) {
      this.name = name + age;
    }
  }

  /** Has no names of parameters, as those of Kotlin. */
  @kotlin.Metadata
  static final class KotlinData {
    final String name;

    KotlinData(String name, int age) {
      this.name = name + age;
    }
  }

  /** As of {@code data class KotlinDefaults(val name: String = "Ann", val age: Int = 0)}. */
  @kotlin.Metadata
  static final class KotlinDefaults {
    private final String name;
    private final int age;

    public KotlinDefaults() {
      this("Ann", 0);
    }

    // In Kotlin it is public: Jackson finds it by the parameters' names, which are not there.
    private KotlinDefaults(String name, int age) {
      this.name = name;
      this.age = age;
    }

    public String getName() {
      return name;
    }

    public int getAge() {
      return age;
    }

    public String component1() {
      return name;
    }

    public int component2() {
      return age;
    }
  }

  /** As of {@code data class KotlinVars(var name: String = "Ann")}. */
  @kotlin.Metadata
  static final class KotlinVars {
    private String name = "Ann";

    public String getName() {
      return name;
    }

    public void setName(String name) {
      this.name = name;
    }

    public String component1() {
      return name;
    }
  }

  @kotlin.Metadata
  static final class KotlinCreated {
    private final String name;

    public KotlinCreated() {
      this("Ann");
    }

    private KotlinCreated(String name) {
      this.name = name;
    }

    @JsonCreator
    static KotlinCreated of(Map<String, String> fields) {
      return new KotlinCreated(fields.getOrDefault("name", ""));
    }

    public String component1() {
      return name;
    }
  }

  /** A {@code @JvmRecord data class}. */
  @kotlin.Metadata
  record KotlinRecord(String name) {
    public KotlinRecord() {
      this("Ann");
    }

    public String component1() {
      return name;
    }
  }

  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME)
  @JsonSubTypes(@JsonSubTypes.Type(value = Circle.class, name = "circle"))
  sealed interface Typed {}

  record Circle(int radius) implements Typed {}

  record Refusing(String name) {
    Refusing {
      if (name == null) {
        throw new IllegalArgumentException("it has none");
      }
    }
  }

  static final class Bean {
    private String name = "";

    public String getName() {
      return name;
    }

    public void setName(String name) {
      this.name = name;
    }
  }

  static final class Created {
    final String name;

    private Created(String name) {
      this.name = name;
    }

    @JsonCreator
    static Created of(@JsonProperty("name") String name) {
      return new Created(name);
    }
  }

  @Test
  void h57_aTypeThatNothingCanBeDecodedAsIsRefusedWhereItIsListenedTo() {
    var pgonce = PgOnce.builder(new PGSimpleDataSource()).codec(codec).build();
    for (var type : List.of(Shape.class, Animal.class, Unmakeable.class, Runnable.class)) {
      assertThatThrownBy(() -> pgonce.listen(Channel.of("a", type), (one, tx) -> {}))
          .as(type.getName())
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("channel a: no payload can be decoded as " + type.getName())
          .hasMessageContainingAll(": it ", "record");
    }
  }

  @Test
  void h57_forAClassOfKotlinItsModuleIsNamed() {
    assertThatThrownBy(() -> codec.requireDecodable(KotlinData.class))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("jackson-module-kotlin");
  }

  /** It can be made from nothing, and nothing else is read into it. */
  @Test
  void h57_forADataClassOfDefaultsItsModuleIsNamedToo() throws Exception {
    assertThat(codec.decode("{\"name\": \"Bob\"}", KotlinDefaults.class).getName())
        .isEqualTo("Ann");
    assertThatThrownBy(() -> codec.requireDecodable(KotlinDefaults.class))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("jackson-module-kotlin");
  }

  @Test
  void h57_aDataClassThatIsReadWithoutTheModuleIsTaken() throws Exception {
    for (var type : List.of(KotlinVars.class, KotlinCreated.class, KotlinRecord.class)) {
      assertThatCode(() -> codec.requireDecodable(type))
          .as(type.getName())
          .doesNotThrowAnyException();
    }
    var bob = "{\"name\": \"Bob\"}";
    assertThat(codec.decode(bob, KotlinVars.class).component1()).isEqualTo("Bob");
    assertThat(codec.decode(bob, KotlinCreated.class).component1()).isEqualTo("Bob");
    assertThat(codec.decode(bob, KotlinRecord.class).component1()).isEqualTo("Bob");
  }

  @Test
  void h57_theUpcastersTypesAreLookedAtToo() {
    var rules = PayloadRules.DEFAULT.withVersion(2).withUpcaster(1, Shape.class, one -> one);
    var channel =
        Channel.of(
            "a",
            CodecContract.Article.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withPayload(rules));
    var pgonce = PgOnce.builder(new PGSimpleDataSource()).codec(codec).build();
    assertThatThrownBy(() -> pgonce.listen(channel, (one, tx) -> {}))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("no payload can be decoded as " + Shape.class.getName());
  }

  @Test
  void h57_othersAreTaken() {
    for (var type :
        List.of(
            CodecContract.Article.class,
            CodecContract.All.class,
            CodecContract.Dated.class,
            CodecContract.Colour.class,
            Bean.class,
            Created.class,
            Typed.class,
            Refusing.class,
            String.class,
            Integer.class,
            int.class,
            BigDecimal.class,
            Instant.class,
            Boolean.class,
            Map.class,
            List.class,
            Object.class,
            int[].class,
            CodecContract.Article[].class,
            byte[].class,
            tree)) {
      assertThatCode(() -> codec.requireDecodable(type))
          .as(type.getName())
          .doesNotThrowAnyException();
    }
  }
}
