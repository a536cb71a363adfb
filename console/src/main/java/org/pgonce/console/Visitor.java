package org.pgonce.console;

import org.jspecify.annotations.Nullable;

/**
 * For whom a page is made. Whoever makes one has found out that this person may look.
 *
 * @param person stands in the operation log beside what was done; null: the database's role alone
 * @param mayAct whether this person may act, if the console and its database role may
 * @param csrfField the name of the hidden field of each form that is posted
 * @param csrfToken its value; the maker of the visitor has refused each POST that came without it
 */
public record Visitor(@Nullable String person, boolean mayAct, String csrfField, String csrfToken) {

  /** Leaves the token out. */
  @Override
  public String toString() {
    return "Visitor[" + person + ", mayAct=" + mayAct + "]";
  }
}
