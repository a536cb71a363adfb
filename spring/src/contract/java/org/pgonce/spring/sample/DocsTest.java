package org.pgonce.spring.sample;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What docs/spring.md shows of this service is what runs here. */
@Tag("second")
class DocsTest {

  private static final Path ROOT = Path.of("..");
  private static final Path CONTRACT = ROOT.resolve("spring/src/contract");

  @Test
  void docsQuoteTheService() throws IOException {
    var docs = Files.readString(ROOT.resolve("docs/spring.md"));
    assertThat(docs)
        .contains(Files.readString(CONTRACT.resolve("resources/db/migration/V1__init.sql")))
        .contains(from("Channels.java", "@Configuration\n", "\n}\n"))
        .contains(from("FirstPostsTest.java", "@PgOnceListenerTest\n", "\n}\n"))
        .contains(from("FirstPosts.java", "  /** Once for each row", "\n  }\n"))
        .contains(from("FirstPosts.java", "  /** The same key", "\n  }\n"));
  }

  private static String from(String file, String first, String last) throws IOException {
    var source = Files.readString(CONTRACT.resolve("java/org/pgonce/spring/sample/" + file));
    var begin = source.indexOf(first);
    return source.substring(begin, source.indexOf(last, begin) + last.length());
  }
}
