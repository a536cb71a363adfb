package org.pgonce.console;

import org.jspecify.annotations.Nullable;

/**
 * For whom a page is made. Whoever makes one has found out that this person may look.
 *
 * @param person stands in the operation log beside what was done; null: the database's role alone
 * @param mayAct whether this person may act, if the console and its database role may
 * @param mayReadPayloads whether this person may, if the console's database role may
 * @param csrfField the name of the hidden field of each form that is posted
 * @param csrfToken its value; the maker of the visitor has refused each POST that came without it
 */
public record Visitor(
    @Nullable String person,
    boolean mayAct,
    boolean mayReadPayloads,
    String csrfField,
    String csrfToken) {

  /** Somebody who looks, and sees no payload. Each POST is refused. */
  public static Visitor looking(@Nullable String person) {
    return new Visitor(person, false, false, "", "");
  }

  /** Leaves the token out. */
  @Override
  public String toString() {
    return "Visitor[%s, mayAct=%s, mayReadPayloads=%s]".formatted(person, mayAct, mayReadPayloads);
  }
}
