package org.pgonce.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.Meter;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.PublishOptions;
import org.pgonce.Tx;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.json.JsonMapper;

/** Docs, dashboard and alert rules against what a real run really exports. */
@PgTest(PgOnceInstalled.class)
class ScrapeTest {

  private static final Path DOCS = Path.of("../docs");
  private static final Path RULES = DOCS.resolve("alerts/pgonce.yml");
  private static final Channel<String> MAILS = Channel.of("mails", String.class);
  private static final Channel<String> SLOW =
      Channel.of("slow", String.class, Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withMaxRate(20));
  private static final Channel<Integer> NEWS = Channel.of("news", Integer.class, Mode.BROADCAST);

  private static final PrometheusMeterRegistry REGISTRY =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private static String scrape;
  private static List<Meter> meters;
  private static List<SpanData> spans;

  /** One run in which everything happens that is counted. */
  @BeforeAll
  static void run(TestDatabase database) throws Exception {
    try (var stage = new Stage(database);
        var traces = Traces.linked()) {
      var pgonce =
          stage.open(
              stage
                  .builder()
                  .observer(new EventMeters(REGISTRY))
                  .interceptors(new HandlerObservation(traces.observations))
                  .build());
      pgonce.install(MAILS, SLOW, NEWS);
      var metrics = stage.open(PgOnceMetrics.of(pgonce, stage.dataSource, Stage.OFTEN));
      metrics.bindTo(REGISTRY);
      pgonce.listen(
          MAILS,
          Stage.QUICK,
          Handler.onlyIf((mail, tx) -> !mail.payload().equals("skip"), ScrapeTest::handle));
      pgonce.listen(SLOW, Stage.QUICK, Handler.batch((list, tx) -> {}));
      pgonce.listen(NEWS, (news, tx) -> {});
      pgonce.start();
      var publisher = new ObservedPublisher(pgonce.publisher(), traces.observations);
      try (var connection = stage.dataSource.getConnection()) {
        connection.setAutoCommit(false);
        publisher.propagate(connection);
        for (var mail : List.of("handle", "fail once", "fail", "skip")) {
          publisher.publish(connection, MAILS, mail);
        }
        for (var i = 0; i < 2; i++) {
          publisher.publish(
              connection, MAILS, "twice", PublishOptions.DEFAULT.withDeliveryKey("twice"));
        }
        pgonce.publisher().publishAll(connection, SLOW, List.of("1", "2", "3", "4", "5", "6"));
        connection.createStatement().execute("select pgonce.publish('news', '\"unreadable\"')");
        connection.commit();
      }
      await()
          .atMost(Stage.SOON)
          .untilAsserted(
              () ->
                  assertThat(REGISTRY.getMeters())
                      .extracting(meter -> meter.getId().getName())
                      .containsAll(documentedMeters()));
      for (var outcome : List.of("handled", "failed", "skipped", "dead")) {
        stage.awaitSoon(() -> Stage.value(REGISTRY, "pgonce.process", "outcome", outcome) > 0);
      }
      stage.awaitSoon(() -> Stage.value(REGISTRY, "pgonce.dead.letters", "channel", "mails") == 1);
      stage.awaitSoon(() -> Stage.value(REGISTRY, "pgonce.listening") == 1);
      scrape = REGISTRY.scrape();
      meters = REGISTRY.getMeters(); // the gauges go when they are closed
      spans = traces.spans();
    }
  }

  private static void handle(Notification<String> mail, Tx tx) {
    if (mail.payload().startsWith("fail")
        && (mail.attempt() == 1 || mail.payload().equals("fail"))) {
      throw new IllegalStateException("no");
    }
  }

  /** The rows, as cells, of those tables of docs/metrics.md that begin with this word. */
  private static List<String[]> rows(String table) throws IOException {
    var rows = new ArrayList<String[]>();
    String[] header = null;
    for (var line : Files.readAllLines(DOCS.resolve("metrics.md"))) {
      var cells = line.split("\\|", -1);
      if (cells.length == 1) {
        header = null;
      } else if (header == null) {
        header = cells;
      } else if (header[1].strip().equals(table) && !cells[1].startsWith("---")) {
        rows.add(cells);
      }
    }
    return rows;
  }

  /** What the pattern finds in a column of these tables. */
  private static Set<String> documented(String table, int column, String pattern)
      throws IOException {
    var code = Pattern.compile("`(" + pattern + ")`");
    return rows(table).stream()
        .flatMap(row -> code.matcher(row[column]).results())
        .map(found -> found.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Set<String> documentedMeters() throws IOException {
    return documented("meter", 1, "pgonce\\.[a-z.]+");
  }

  /** The name itself, or that of a timer, whose samples have endings. */
  private static boolean isScraped(String metric) {
    return Pattern.compile("^" + metric + "(_count)?[{ ]", Pattern.MULTILINE)
        .matcher(scrape)
        .find();
  }

  private static List<String> scrapedNames(String text) {
    return Pattern.compile("\\bpgonce_[a-z_]+")
        .matcher(text)
        .results()
        .map(MatchResult::group)
        .distinct()
        .toList();
  }

  /** Of Grafana's variables only the values: all jobs, all channels, five minutes. */
  private static List<String> dashboardQueries() throws IOException {
    var queries = new ArrayList<String>();
    var dashboard = JsonMapper.shared().readTree(DOCS.resolve("grafana/pgonce.json"));
    for (var panel : dashboard.get("panels")) {
      for (var target : panel.get("targets")) {
        queries.add(
            target
                .get("expr")
                .asString()
                .replace("$__rate_interval", "5m")
                .replace("$job", ".*")
                .replace("$channel", ".*"));
      }
    }
    return queries;
  }

  @Test
  void everyMeterOfTheDocsIsScrapedAndNoOther() throws IOException {
    assertThat(meters)
        .extracting(meter -> meter.getId().getName())
        .hasSameElementsAs(documentedMeters());
    assertThat(documented("meter", 2, "pgonce_[a-z_]+"))
        .hasSameSizeAs(documentedMeters())
        .allMatch(ScrapeTest::isScraped);
  }

  @Test
  void everyTagOfTheDocsIsOnItsMeter() throws IOException {
    for (var row : rows("meter")) {
      var name = row[1].replace("`", "").strip();
      var tags =
          Pattern.compile("(^|, )([a-z]+)")
              .matcher(row[4].replaceAll(": .*", "").strip())
              .results()
              .map(tag -> tag.group(2))
              .toList();
      assertThat(meters)
          .filteredOn(meter -> meter.getId().getName().equals(name))
          .as(name)
          .isNotEmpty()
          .allSatisfy(
              meter ->
                  assertThat(meter.getId().getTags())
                      .extracting(tag -> tag.getKey())
                      .containsExactlyInAnyOrderElementsOf(tags));
    }
  }

  @Test
  void everySpanAndAttributeOfTheDocsWasMadeAndNoOther() throws IOException {
    assertThat(spans)
        .extracting(span -> span.getName().replaceFirst(" .*", " <channel>"))
        .hasSameElementsAs(documented("observation", 2, "(?:process|send)(?: <channel>)?"));
    var attributes = new TreeSet<String>();
    for (var span : spans) {
      span.getAttributes().asMap().keySet().stream()
          .map(AttributeKey::getKey)
          .forEach(attributes::add);
    }
    // No batch in this run is sure to have several: TracingTest has one.
    attributes.add("messaging.batch.message_count");
    assertThat(attributes)
        .containsExactlyInAnyOrderElementsOf(documented("attribute", 1, "[a-z._]+"));
  }

  @Test
  void dashboardAndRulesUseNoOtherMetrics() throws IOException {
    var used = scrapedNames(dashboardQueries() + Files.readString(RULES));
    assertThat(used)
        .hasSizeGreaterThan(15)
        .allMatch(
            metric -> isScraped(metric) || scrape.contains("\n" + metric + "{"), "is scraped");
  }

  @Test
  void everyQueryOfTheDashboardHasAnAnswer(@TempDir Path folder) throws Exception {
    Promtool.assumeInstalled();
    var test = folder.resolve("dashboard.yml");
    Files.writeString(test, Promtool.queriesHaveAnswers(scrape, dashboardQueries()));
    Promtool.run("test", "rules", test.toString());
  }

  @Test
  void eachAlertFiresWhereItHasToAndNowhereElse(@TempDir Path folder) throws Exception {
    Promtool.assumeInstalled();
    Promtool.run("check", "rules", RULES.toString());
    var test = folder.resolve("alerts-test.yml");
    var rules = RULES.toAbsolutePath().normalize().toString();
    Files.writeString(
        test,
        Files.readString(Path.of("src/test/resources/alerts-test.yml")).replace("RULES", rules));
    Promtool.run("test", "rules", test.toString());
  }
}
