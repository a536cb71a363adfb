package org.pgonce.jackson;

import static org.assertj.core.api.Assertions.as;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.INTEGER;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.File;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.Month;
import java.time.Year;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.Currency;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TimeZone;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PayloadRules;
import org.pgonce.PayloadRules.MissingFields;
import org.pgonce.PayloadRules.UnknownFields;
import org.pgonce.internal.handle.PayloadReader;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/**
 * What both codecs do.
 *
 * @param <N> the library's tree
 */
abstract class CodecContract<N> extends DecodableTypesContract<N> {

  private final PayloadReader<N> reader;

  /**
   * @param codec with its standard settings
   */
  CodecContract(PayloadCodec codec, Class<N> tree) {
    super(codec, tree);
    var rules = PayloadRules.DEFAULT.withVersion(2).withUpcaster(1, tree, payload -> payload);
    this.reader =
        new PayloadReader<>(
            Channel.of(
                "raised", tree, Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withPayload(rules)),
            codec);
  }

  /** One with a mapper of the user's own, which refuses unknown fields. */
  abstract PayloadCodec refusingUnknownFields();

  /** One with the standard settings, but for how deep it reads. */
  abstract PayloadCodec readingAsDeepAs(int depth);

  abstract BigDecimal number(N tree);

  record Article(long id, @Nullable String name, int stock) {}

  private static final String WHOLE = "{\"id\": 1, \"name\": \"pen\", \"stock\": 2}";
  private static final String MORE = "{\"id\": 1, \"name\": \"pen\", \"stock\": 2, \"color\": 3}";
  private static final String NO_NAME = "{\"id\": 1, \"stock\": 2}";
  private static final String NULL_NAME = "{\"id\": 1, \"name\": null, \"stock\": 2}";
  private static final String NO_STOCK = "{\"id\": 1, \"name\": \"pen\"}";
  private static final String NULL_STOCK = "{\"id\": 1, \"name\": \"pen\", \"stock\": null}";

  private Article read(UnknownFields unknown, MissingFields missing, String json)
      throws UnreadablePayloadException {
    return codec.with(unknown, missing).decode(json, Article.class);
  }

  @Test
  void h24_unknownFieldsArePassedOverOrRefused() throws Exception {
    assertThat(read(UnknownFields.IGNORE, MissingFields.NULL, MORE)).isEqualTo(pen(2));
    assertThat(read(UnknownFields.FAIL, MissingFields.NULL, WHOLE)).isEqualTo(pen(2));
    assertThatThrownBy(() -> read(UnknownFields.FAIL, MissingFields.NULL, MORE))
        .isInstanceOf(UnreadablePayloadException.class)
        .hasMessageContaining(".color");
  }

  @Test
  void h24_missingFieldsAreNullOrZeroOrRefused() throws Exception {
    assertThat(read(UnknownFields.IGNORE, MissingFields.NULL, NO_NAME).name()).isNull();
    assertUnreadable(MissingFields.NULL, NO_STOCK);
    assertThat(read(UnknownFields.IGNORE, MissingFields.NULL_OR_ZERO, NO_NAME).name()).isNull();
    assertThat(read(UnknownFields.IGNORE, MissingFields.NULL_OR_ZERO, NO_STOCK)).isEqualTo(pen(0));
    assertUnreadable(MissingFields.FAIL, NO_NAME);
    assertUnreadable(MissingFields.FAIL, NO_STOCK);
    assertThat(read(UnknownFields.FAIL, MissingFields.FAIL, WHOLE)).isEqualTo(pen(2));
  }

  @Test
  void h24_nullIsNoMissingField() throws Exception {
    for (var missing : MissingFields.values()) {
      assertThat(read(UnknownFields.FAIL, missing, NULL_NAME).name()).isNull();
      assertUnreadable(missing, NULL_STOCK);
    }
  }

  private static Article pen(int stock) {
    return new Article(1, "pen", stock);
  }

  private void assertUnreadable(MissingFields missing, String json) {
    assertThatThrownBy(() -> read(UnknownFields.IGNORE, missing, json))
        .isInstanceOf(UnreadablePayloadException.class);
  }

  @Test
  void h24_aMapperOfOnesOwnKeepsItsSettingsWhereTheRulesAreTheDefaults() {
    var own = refusingUnknownFields();
    assertThat(own.with(UnknownFields.IGNORE, MissingFields.NULL)).isSameAs(own);
    assertThatThrownBy(
            () ->
                own.with(UnknownFields.IGNORE, MissingFields.NULL_OR_ZERO)
                    .decode(MORE, Article.class))
        .isInstanceOf(UnreadablePayloadException.class);
  }

  @Test
  void nullIsRefused() {
    var none = Optional.<String>empty().orElse(null);
    assertThatNullPointerException().isThrownBy(() -> codec.encode(none, String.class));
    assertThatNullPointerException().isThrownBy(() -> codec.with(null, MissingFields.NULL));
    assertThatNullPointerException().isThrownBy(() -> codec.with(UnknownFields.FAIL, null));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1.10",
        "1E+400",
        "9223372036854775808",
        "0.1000000000000000055511151231257827",
        "[null, true, {}, []]",
        "\"\\u0000 \\ud83d\\ude00 \\u00e4\"",
        "{\"a b\": {\"\": 1}, \"z\": 1, \"a\": 2}",
      })
  void h20_aPayloadGoesThroughAnUpcasterUnchanged(String json) throws Exception {
    assertThat(reader.read(1, 1, json).toString()).isEqualTo(reader.read(1, 2, json).toString());
  }

  @Test
  void h20_numbersOfAnyLengthDoToo() throws Exception {
    var digits = "9".repeat(131_072) + "." + "1".repeat(16_383);
    assertThat(number(reader.read(1, 1, digits)).toPlainString()).isEqualTo(digits);
  }

  record Exact(BigDecimal amount, int count, @Nullable Object any) {}

  @Test
  void h20_whatDoesNotFitIsAnErrorAndNeverRounded() throws Exception {
    assertThat(codec.decode("{\"amount\":1.10,\"count\":1,\"any\":1.10}", Exact.class))
        .isEqualTo(new Exact(new BigDecimal("1.10"), 1, new BigDecimal("1.10")));
    for (var count : List.of("1.5", "2147483648", "\"1\"", "true", "null", "1e0")) {
      assertThatThrownBy(
              () -> codec.decode("{\"amount\":1,\"count\":%s}".formatted(count), Exact.class))
          .as(count)
          .isInstanceOf(UnreadablePayloadException.class)
          .hasMessageContaining(".count");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"a\": 1, \"a\": 2}", "{} {}", "", "{\"a\":"})
  void h21_whatIsNoJsonIsUnreadableWithAnUpcasterAndWithoutOne(String json) {
    for (var version = 1; version <= 2; version++) {
      var made = version;
      assertThatThrownBy(() -> reader.read(1, made, json))
          .isInstanceOf(UnreadablePayloadException.class);
    }
  }

  @Test
  void h21_theMessageTellsPlacesAndNoValues() {
    assertThatThrownBy(() -> codec.decode("{\"id\": \"secret\"}", Article.class))
        .isInstanceOf(UnreadablePayloadException.class)
        .hasMessageContaining("not readable as " + Article.class.getName() + " at .id: ")
        .hasMessageNotContaining("secret");
    assertThatThrownBy(() -> codec.decode("null", Article.class)).hasMessageContaining("is null");
  }

  /** A column that was renamed: the same words for all rows, whatever their length. */
  @Test
  void h21_aMissingFieldIsNamedAndSoAreThoseThatAreThere() {
    for (var name : List.of("Ann", "Bartholomew")) {
      assertThatThrownBy(
              () ->
                  codec.decode(
                      "{\"author_no\": 7, \"name\": \"%s\"}".formatted(name), Article.class))
          .isInstanceOf(UnreadablePayloadException.class)
          .hasMessage(
              "not readable as %s at .id: the field is missing (expected long); there are author_no, name"
                  .formatted(Article.class.getName()));
    }
  }

  record Box(@Nullable Box box, @Nullable Object any) {}

  @Test
  void h21_aBoundThatIsPassedIsNamedAndWhatToDo() {
    assertBound("[".repeat(100_000), Object.class, "nesting depth (501)", "(500, ");
    assertBound("{\"box\":".repeat(501), Box.class, "nesting depth (501)", "(500, ");
    assertBound("{\"any\":" + "7".repeat(150_001) + "}", Box.class, "150001", "150000");
    assertBound("{\"" + "7".repeat(50_001) + "\":1}", Object.class, "Name length", "50000");
  }

  @Test
  void h21_aBoundCanBeRaisedAndTheOtherSettingsStay() throws Exception {
    var deep = readingAsDeepAs(600);
    assertThat(deep.decode("{\"box\":".repeat(599) + "{}" + "}".repeat(599), Box.class))
        .isNotNull();
    assertThatThrownBy(() -> deep.decode("{\"any\":" + "7".repeat(150_001) + "}", Box.class))
        .hasMessageContaining("150000");
    assertThatThrownBy(() -> deep.decode("{\"id\": 1, \"stock\": \"2\"}", Article.class))
        .isInstanceOf(UnreadablePayloadException.class);
  }

  private static Object nested(int depth) {
    Object nested = List.of();
    for (var level = 1; level < depth; level++) {
      nested = List.of(nested);
    }
    return nested;
  }

  /** Else it would be stored, and be a dead letter. */
  @Test
  void h21_whatIsTooDeepToBeReadIsNotWritten() throws Exception {
    for (var depth : List.of(500, 600)) {
      var reads = depth == 500 ? codec : readingAsDeepAs(depth);
      assertThat(reads.decode(reads.encode(nested(depth), Object.class), Object.class)).isNotNull();
      assertThatThrownBy(() -> reads.encode(nested(depth + 1), Object.class))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContainingAll("cannot be written as JSON", "nesting depth", "Store less");
    }
  }

  private void assertBound(String json, Class<?> type, String... bound) {
    assertThatThrownBy(() -> codec.decode(json, type))
        .isInstanceOf(UnreadablePayloadException.class)
        .hasMessageStartingWith("not readable as " + type.getName())
        .hasMessageContainingAll(bound)
        .hasMessageContainingAll("Store less", "StreamReadConstraints", "PgOnceBuilder.codec")
        .hasMessageContaining("new %1$s(%1$s.strict(", codec.getClass().getSimpleName())
        .hasMessageNotContaining("777")
        .extracting(failure -> String.valueOf(failure.getMessage()).length(), as(INTEGER))
        .isLessThan(1_000); // a dead letter's reason is cut at 2,000
  }

  enum Colour {
    @JsonProperty("dark red")
    RED,
    BLUE
  }

  @SuppressWarnings("ArrayRecordComponent")
  record All(
      long orderId,
      @Nullable String firstName,
      BigDecimal price,
      byte[] bytes,
      Colour colour,
      DayOfWeek day,
      List<Integer> list,
      Map<String, Object> map,
      boolean done) {}

  record Dated(Instant at, LocalDate day, Duration took) {}

  @Test
  void bothWriteTheSame() throws Exception {
    var all =
        new All(
            1,
            "a/b\"\u00e4\u0001",
            new BigDecimal("1.10"),
            new byte[] {1, 2},
            Colour.RED,
            DayOfWeek.MONDAY,
            List.of(1),
            Map.of("a", 2),
            true);
    var json = codec.encode(all, All.class);
    assertThat(json).isEqualTo(new JacksonCodec().encode(all, All.class));
    assertThat(json).contains("\"order_id\":1", "\"first_name\":", "1.10", "dark red");
    var read = codec.decode(json, All.class);
    assertThat(read).usingRecursiveComparison().isEqualTo(all);
    assertThat(codec.decode("\"\\\\x0102\"", byte[].class)).containsExactly(1, 2);

    var dated =
        new Dated(
            Instant.parse("2026-01-02T03:04:05.000006Z"),
            LocalDate.of(2026, 1, 2),
            Duration.ofSeconds(90));
    assertThat(codec.encode(dated, Dated.class))
        .isEqualTo(
            "{\"at\":\"2026-01-02T03:04:05.000006Z\",\"day\":\"2026-01-02\",\"took\":\"PT1M30S\"}");
    assertThat(codec.decode(codec.encode(dated, Dated.class), Dated.class)).isEqualTo(dated);
  }

  record Calendared(Month month, Map<Month, Year> years, Year year) {}

  @Test
  void bothWriteMonthsAndYearsTheSame() throws Exception {
    var may = new Calendared(Month.MAY, Map.of(Month.JUNE, Year.of(1)), Year.of(2026));
    var json = "{\"month\":\"MAY\",\"years\":{\"JUNE\":\"1\"},\"year\":\"2026\"}";
    assertThat(codec.encode(may, Calendared.class)).isEqualTo(json);
    assertThat(codec.decode(json, Calendared.class)).isEqualTo(may);
  }

  /** Without it a local time half a year later would be another one. */
  @Test
  void h20_aTimeKeepsItsZone() throws Exception {
    var at = ZonedDateTime.parse("2026-10-25T02:30:00+01:00[Europe/Berlin]");
    var json = codec.encode(at, ZonedDateTime.class);
    assertThat(json).isEqualTo("\"2026-10-25T02:30:00+01:00[Europe/Berlin]\"");
    assertThat(codec.decode(json, ZonedDateTime.class)).isEqualTo(at);
    var offset = ZonedDateTime.parse("2026-10-25T02:30:00+01:00");
    assertThat(codec.encode(offset, ZonedDateTime.class))
        .isEqualTo("\"2026-10-25T02:30:00+01:00\"");
    var instant = Instant.parse("2026-10-25T02:30:00Z");
    assertThat(codec.encode(instant, Instant.class)).isEqualTo("\"2026-10-25T02:30:00Z\"");
  }

  @Test
  void h20_aNumberIsNoConstantOfAnEnum() {
    assertThatThrownBy(() -> codec.decode("1", Colour.class))
        .isInstanceOf(UnreadablePayloadException.class);
  }

  record Identified(@Nullable UUID id) {}

  /** Jackson would take it for null. */
  @Test
  void h20_anEmptyTextIsNoUuid() throws Exception {
    assertThat(codec.decode("{\"id\": null}", Identified.class).id()).isNull();
    assertThatThrownBy(() -> codec.decode("{\"id\": \"\"}", Identified.class))
        .isInstanceOf(UnreadablePayloadException.class)
        .hasMessageContaining(".id");
  }

  @ParameterizedTest
  @ValueSource(
      classes = {
        Currency.class,
        TimeZone.class,
        Charset.class,
        Pattern.class,
        URL.class,
        File.class,
        InetAddress.class,
        InetSocketAddress.class,
        Class.class,
        ZoneId.class,
        Duration.class,
        BigDecimal.class,
        Colour.class
      })
  void h20_anEmptyTextIsNoValueOfATypeThatHasNone(Class<?> type) {
    assertThatThrownBy(() -> codec.decode("[\"\"]", type.arrayType()))
        .isInstanceOf(UnreadablePayloadException.class)
        .hasMessageContaining("[0]");
  }

  @ParameterizedTest
  @ValueSource(classes = {BigDecimal.class, Long.class, Double.class, Boolean.class, UUID.class})
  void h20_aBlankTextIsNoNumber(Class<?> type) {
    assertThatThrownBy(() -> codec.decode("[\" \"]", type.arrayType()))
        .isInstanceOf(UnreadablePayloadException.class)
        .hasMessageContaining("[0]");
  }

  @ParameterizedTest
  @ValueSource(classes = {URI.class, Locale.class, String.class, byte[].class})
  void h20_anEmptyTextIsAValueOfATypeThatHasOne(Class<?> type) throws Exception {
    assertThat((Object[]) codec.decode("[\"\"]", type.arrayType())).doesNotContainNull().hasSize(1);
  }

  /** For Jackson 2 it is the empty path. */
  @Test
  void h20_anEmptyTextIsNoPathThatIsNull() {
    try {
      assertThat(codec.decode("[\"\"]", Path[].class)).doesNotContainNull();
    } catch (UnreadablePayloadException ofJackson3) {
      assertThat(ofJackson3).hasMessageContaining("[0]");
    }
  }
}
