package org.pgonce.console.internal.page;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A part of a page. Each has a template of its name. One with an id is put in the older one's place
 * by the script.
 */
public sealed interface Section {

  /** A text in a table or a list. Null {@code href}: no link. */
  record Cell(String text, @Nullable String href, @Nullable String look) {

    public static Cell of(@Nullable Object value) {
      return new Cell(Words.of(value), null, value instanceof Number ? "number" : null);
    }

    public static Cell link(@Nullable Object value, String href) {
      return new Cell(Words.of(value), href, value instanceof Number ? "number" : null);
    }

    /** {@code good}, {@code warn} or {@code bad}; never told by its color alone. */
    public static Cell badge(String text, String look) {
      return new Cell(text, null, "badge " + look);
    }

    public static Cell code(@Nullable Object value) {
      return new Cell(Words.of(value), null, "code");
    }
  }

  record Fact(String name, Cell value) {

    public static Fact of(String name, @Nullable Object value) {
      return new Fact(name, Cell.of(value));
    }
  }

  /** Names and values. */
  record Facts(@Nullable String id, String heading, List<Fact> facts) implements Section {

    public Facts(String heading, List<Fact> facts) {
      this(null, heading, facts);
    }
  }

  /** A line that is to be seen. {@code look}: {@code good}, {@code warn} or {@code bad}. */
  record Note(@Nullable String id, String text, String look) implements Section {

    public Note(String text, String look) {
      this(null, text, look);
    }
  }

  /** A text with its line breaks: a payload, of which others chose each character. */
  record Preformatted(String heading, String text) implements Section {}

  /** Links or, where they lead to something that is done, buttons. */
  record Links(@Nullable String id, String label, boolean buttons, List<Link> links)
      implements Section {

    public static Links tabs(String label, List<Link> links) {
      return new Links(null, label, false, links);
    }

    public static Links actions(String id, String label, List<Link> links) {
      return new Links(id, label, true, links);
    }
  }

  record Link(String text, String href, boolean current) {

    public static Link to(String text, String href) {
      return new Link(text, href, false);
    }
  }

  /** Null {@code options}: any text. */
  record Field(String name, String label, String value, @Nullable List<String> options) {}

  /** Fields that narrow the page, by GET. {@code fixed}: hidden ones. */
  record Filter(String action, List<Field> fields, List<Field> fixed) implements Section {}

  /** Null {@code choice}: the row cannot be chosen. */
  record Row(@Nullable String choice, String name, List<Cell> cells) {}

  /** What can be done with chosen rows: leads to a page that asks why. */
  record Choices(String action, List<Field> fixed, List<Field> buttons) {}

  /**
   * Rows with a caption.
   *
   * @param more the next page; null if there is none
   */
  record Table(
      String id,
      String caption,
      List<String> heads,
      List<Row> rows,
      String none,
      @Nullable Link more,
      @Nullable Choices choices)
      implements Section {}

  /**
   * A line of {@code points}, as SVG has them, in a field of {@value #WIDTH} by {@value #HEIGHT}.
   */
  record Line(String name, String points, String look) {}

  /** {@code sentence}: what it shows, for those who do not see it. */
  record Plot(String id, String heading, String sentence, List<Line> lines) implements Section {

    public static final int WIDTH = 600;
    public static final int HEIGHT = 120;
  }

  /** Asks why, and does it, by POST. */
  record Confirmation(
      String action, String button, String csrfField, String csrfToken, List<Field> fixed)
      implements Section {}

  /** Asks for the token that was printed at the start. */
  record TokenForm(String action) implements Section {}
}
