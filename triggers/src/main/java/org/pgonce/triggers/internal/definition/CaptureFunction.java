package org.pgonce.triggers.internal.definition;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.records.internal.catalog.WatchedTable;

/**
 * The function that all triggers of a channel run. It belongs to a role that may put triggers on
 * the table, and runs with the rights of that role. Whatever the writer's session has set, the
 * payload is the same; whatever the writer may not do on pgonce, the row is stored.
 *
 * @param triggers one per event, in one order
 */
public record CaptureFunction(Capture capture, WatchedTable table, List<CaptureTrigger> triggers) {

  /** Where all of them are. */
  public static final String SCHEMA = "pgonce_triggers";

  private static final String SUBSCRIPTIONS = "subscriptions";
  private static final String WATCHED = "watched";
  private static final String TEXT = ", text ";

  public CaptureFunction {
    triggers = List.copyOf(triggers);
  }

  public String name() {
    return nameOf(capture.channel());
  }

  /** As SQL names that of a channel. */
  public static String nameOf(String channel) {
    return SCHEMA + "." + Quoted.identifier("capture_" + channel);
  }

  /**
   * As it was if the table had relations to others when the channel was installed, and has none
   * now, or the other way round.
   */
  public CaptureFunction beforeItsTableChanged() {
    return capture.function(table, !table.form().isOfSeveral());
  }

  /** So that whatever the writer has set, names lead to the same, and values are the same JSON. */
  public Pins pins() {
    return Pins.of(capture, table);
  }

  /**
   * Its text as PostgreSQL keeps it.
   *
   * @param subscriptions by pgonce.subscriptions_sql; null for placeholders of all that is this
   *     database's
   */
  public String body(@Nullable String subscriptions) {
    return subscriptions == null
        ? body(placeholder(SUBSCRIPTIONS, 0), placeholder(WATCHED, 0))
        : body(subscriptions, String.valueOf(table.oid()));
  }

  private String body(String subscriptions, String watched) {
    return "\n" + new CaptureBody(this).text(subscriptions, watched);
  }

  private static String placeholder(String name, int number) {
    return "{" + name + (number == 0 ? "" : number) + "}";
  }

  /** One that the text does not have: SQL and names of the user's may have any. */
  private static String freePlaceholder(String name, String text) {
    var number = 0;
    while (text.contains(placeholder(name, number))) {
      number++;
    }
    return placeholder(name, number);
  }

  /**
   * What the function is known by in the database: its definition in words and by its hash, and the
   * hash of its text, by which a change by hand is found.
   */
  public String comment(String body) {
    return definition() + TEXT + hash(body);
  }

  /** The definition's part of the comment. It is the same for whichever table. */
  public String definition() {
    var version = capture.stored().rules().version();
    return "pgonce: %s, %s,%s definition %s"
        .formatted(
            capture.description(),
            capture.mode(),
            version == 1 ? "" : " version " + version + ",",
            definitionHash());
  }

  /** The version of the payloads that a function with such a comment writes. */
  public static int versionIn(String comment) {
    var version = comment.replaceFirst("(?s).*, version (\\d{1,5}), definition .*", "$1");
    return version.equals(comment) ? 1 : Integer.parseInt(version);
  }

  /** The same of an installed function's comment. */
  public static String definitionIn(String comment) {
    return comment.replaceFirst(TEXT + "[0-9a-f]+$", "");
  }

  /** Whether a body is still the one with which its comment was made. */
  public static boolean isUnchanged(String body, String comment) {
    return comment.endsWith(TEXT + hash(body));
  }

  /**
   * Makes it, as the role that it is to belong to.
   *
   * @param subscriptions as of {@link #body}
   */
  public String create(@Nullable String subscriptions) {
    var body = body(subscriptions);
    return function(body) + commentOn(Quoted.literal(comment(body)));
  }

  private String function(String body) {
    return Template.fill(
        "function.sql",
        Map.of(
            "function", name(),
            "settings", settingsSql(),
            "body", Quoted.dollar(body),
            "kept", forOwnerAlone(name())));
  }

  /** So that nobody else can attach it to a table of his own, and forge notifications. */
  public static String forOwnerAlone(String function) {
    var block = Template.fill("kept.sql", Map.of("function", Quoted.literal(function + "()")));
    return "DO " + Quoted.dollar(block) + ";";
  }

  private String commentOn(String text) {
    return "COMMENT ON FUNCTION %s() IS %s;\n".formatted(name(), text);
  }

  /**
   * Looks the channel's subscriptions and its table up for {@link #createLater}. Whom the function
   * is to belong to may not have the right to.
   */
  public static String lookUp(String channel, WatchedTable table) {
    var subscriptions =
        "SELECT pg_catalog.set_config('pgonce.subscriptions', pgonce.subscriptions_sql(%s), false);\n"
            .formatted(Quoted.literal(channel));
    return table.isKnown()
        ? subscriptions
            + "SELECT pg_catalog.set_config('pgonce.watched', CAST(CAST(CAST(%s AS regclass) AS oid) AS text), false);\n"
                .formatted(Quoted.literal(Quoted.table(table.name())))
        : subscriptions;
  }

  /** The same where the subscriptions and the table are not known yet: they are looked up then. */
  public String createLater() {
    var known = body("", "");
    var subscriptions = freePlaceholder(SUBSCRIPTIONS, known);
    var watched = freePlaceholder(WATCHED, known);
    var text = Quoted.dollar(function(body(subscriptions, watched)));
    if (text.contains(watched)) {
      text = "replace(%s, '%s', current_setting('pgonce.watched'))".formatted(text, watched);
    }
    var block =
        Template.fill(
            "later.sql",
            Map.of(
                "text", text,
                "placeholder", subscriptions,
                "comment", Quoted.literal(commentOn("%L")),
                "definition", Quoted.literal(definition() + TEXT),
                "name", Quoted.literal(name() + "()")));
    return "DO " + Quoted.dollar(block) + ";\n";
  }

  private String settingsSql() {
    return pins().needed().entrySet().stream()
        .map(CaptureFunction::set)
        .collect(Collectors.joining(" "));
  }

  private static String set(Map.Entry<String, String> setting) {
    // A list of names is not one text.
    var isList = setting.getKey().equals("search_path");
    return "SET %s = %s"
        .formatted(
            setting.getKey(), isList ? setting.getValue() : Quoted.literal(setting.getValue()));
  }

  /** Drops the triggers that run it too: a lock on their tables that waits for every reader. */
  public static String drop(String channel) {
    return "DROP FUNCTION IF EXISTS " + nameOf(channel) + "() CASCADE;\n";
  }

  /**
   * Locks the partitioned tables whose triggers are about to go with it, where the session's role
   * may: see {@link CaptureTrigger#drop}.
   */
  public static String lockTables(String channel) {
    var block =
        Template.fill(
            "table_first.sql", Map.of("function", Quoted.literal(nameOf(channel) + "()")));
    return "DO " + Quoted.dollar(block) + ";\n";
  }

  private String definitionHash() {
    // Of whatever table: when that is altered, the definition stays the same.
    var unknown = WatchedTable.unknown(capture.table());
    var any =
        new CaptureFunction(
            capture, unknown, triggers.stream().map(trigger -> trigger.on(unknown)).toList());
    return hash(
        capture.description()
            + triggers.stream()
                .map(trigger -> trigger.create(capture.table()))
                .collect(Collectors.joining())
            + any.pins().allowed()
            + new CaptureBody(any).text(placeholder(SUBSCRIPTIONS, 0), placeholder(WATCHED, 0)));
  }

  /** Of 12 digits, as the database has it by sha256. */
  private static String hash(String text) {
    try {
      var digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, 6);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-256", e);
    }
  }
}
