package org.pgonce.spring.slice;

import org.jooq.DSLContext;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.slice.Channels.Renamed;
import org.springframework.stereotype.Component;

/** By jOOQ and by MyBatis. */
@Component
class Renamings {

  private final DSLContext jooq;
  private final AuthorMapper authors;

  Renamings(DSLContext jooq, AuthorMapper authors) {
    this.jooq = jooq;
    this.authors = authors;
  }

  @PgOnceListener(channel = "renamed")
  void rename(Renamed user) {
    var gone = jooq.query("delete from author where name = ?", user.before()).execute();
    authors.add(user.now());
    if (gone == 0) {
      throw new IllegalStateException("there is no " + user.before());
    }
  }
}
