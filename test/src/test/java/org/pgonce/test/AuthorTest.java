package org.pgonce.test;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Handler;
import org.pgonce.triggers.TriggerChannel;

/** A channel that a table feeds: the test writes rows. */
@PgOnceTest
class AuthorTest {

  record Author(long id, String name) {}

  static final TriggerChannel<Author> AUTHOR_ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  final Handler<Author> welcome =
      (added, tx) ->
          tx.update(
              "insert into post (author_id, content) values (?, ?)",
              added.payload().id(),
              "Welcome, " + added.payload().name() + "!");

  @BeforeEach
  void install(PgOnceTester pgonce) {
    pgonce.execute("create table author (id bigint primary key, name text not null)");
    pgonce.execute("create table post (author_id bigint not null, content text not null)");
    pgonce.install(AUTHOR_ADDED);
  }

  @Test
  void aNewAuthorGetsAPost(PgOnceTester pgonce) {
    pgonce.execute("insert into author values (1, 'Ada')");
    assertThat(pgonce).hasPublished(AUTHOR_ADDED).withPayload(new Author(1, "Ada")).once();
    assertThat(pgonce.drain(AUTHOR_ADDED, welcome)).isEqualTo(1);
    assertThat(pgonce.count("select count(*) from post where content = 'Welcome, Ada!'"))
        .isEqualTo(1);
    assertThat(pgonce).isEmpty();
  }

  @Test
  void oncePerAuthor(PgOnceTester pgonce) {
    pgonce.execute("insert into author select n, 'author ' || n from generate_series(1, 5) as n");
    pgonce.chaos(AUTHOR_ADDED, welcome).assertEffectsOnce("select count(*) from post");
  }
}
