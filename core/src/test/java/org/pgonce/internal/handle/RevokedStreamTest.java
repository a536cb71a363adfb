package org.pgonce.internal.handle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * Large objects and XML of a handler end with it, and reach the connection no more. Its streams are
 * read whole, and do not need it.
 */
@Tag("versions")
@PgTest
class RevokedStreamTest {

  private static final byte[] BYTES = "large object".getBytes(StandardCharsets.US_ASCII);

  @BeforeEach
  void makeLargeObject(TestDatabase database) throws SQLException {
    database.execute("SELECT lo_from_bytea(4711, 'large object')");
  }

  private static ResultSet row(Connection connection, String columns) throws SQLException {
    var rows = connection.createStatement().executeQuery("SELECT " + columns);
    rows.next();
    return rows;
  }

  private static void assertEnded(ThrowingCallable call) {
    assertThatThrownBy(call)
        .satisfies(
            e -> {
              assertThat(e)
                  .isInstanceOf(SQLException.class)
                  .hasMessageContaining("the handler of channel \"item\", id 1 has ended");
              assertThat(((SQLException) e).getSQLState()).isEqualTo("08003");
            });
  }

  @ParameterizedTest
  @EnumSource
  void h44_largeObjectsAndTheirStreamsEndWithTheHandler(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var blob = row(row.handlers(), "4711::oid").getBlob(1);
      var in = blob.getBinaryStream();
      assertThat(in.read()).isEqualTo('l');
      assertThatThrownBy(() -> blob.setBinaryStream(1)).hasMessageContaining("is refused");
      blob.setBytes(1, new byte[] {'L'});
      assertThat(blob.getBytes(1, BYTES.length))
          .isEqualTo("Large object".getBytes(StandardCharsets.US_ASCII));

      row.guard().seal();

      assertEnded(blob::length);
      assertEnded(() -> blob.getBytes(1, 5));
      assertEnded(blob::getBinaryStream);
      assertThat(in.readAllBytes()).isEqualTo("arge object".getBytes(StandardCharsets.US_ASCII));
      blob.free();
      row.deleteAndCommit();
    }
    assertThat(database.queryString("SELECT convert_from(lo_get(4711), 'SQL_ASCII')"))
        .isEqualTo("Large object");
  }

  @ParameterizedTest
  @EnumSource(names = {"PGJDBC", "HIKARI"})
  void h44_textOfLargeObjectsEndsWithTheHandler(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var clob = row(row.handlers(), "4711::oid").getClob(1);
      var reader = clob.getCharacterStream();
      assertThat(reader.read()).isEqualTo('l');
      var ascii = clob.getAsciiStream();
      assertThat(ascii.read()).isEqualTo('l');

      row.guard().seal();

      assertEnded(clob::length);
      assertEnded(clob::getCharacterStream);
      assertThat(reader.read()).isEqualTo('a');
      assertThat(ascii.read()).isEqualTo('a');
      row.deleteAndCommit();
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_columnsAsStreamsAndXmlEndWithTheHandler(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var rows = row(row.handlers(), "'abc'::bytea, 'abc'::text, '<a/>'::xml, ARRAY[1, 2]");
      var bytes = rows.getBinaryStream(1);
      var text = rows.getCharacterStream(2);
      var xml = rows.getSQLXML(3);
      var elements = rows.getArray(4).getResultSet();
      assertThat(bytes.read()).isEqualTo('a');
      assertThat(text.read()).isEqualTo('a');
      assertThat(xml.getString()).isEqualTo("<a/>");
      assertThat(elements.next()).isTrue();

      row.guard().seal();

      assertEnded(() -> rows.getBinaryStream(1));
      assertThat(bytes.read()).isEqualTo('b');
      assertThat(text.read()).isEqualTo('b');
      assertEnded(xml::getString);
      assertEnded(elements::next);
      xml.free();
      row.deleteAndCommit();
    }
  }

  @ParameterizedTest
  @EnumSource
  void xmlGoesThroughTheGuardBothWays(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source);
        var prepared = row.handlers().prepareStatement("SELECT xmlserialize(CONTENT ? AS text)")) {
      var xml = row.handlers().createSQLXML();
      xml.setString("<a/>");
      prepared.setSQLXML(1, xml);
      try (var rows = prepared.executeQuery()) {
        rows.next();
        assertThat(rows.getString(1)).isEqualTo("<a/>");
      }
    }
  }
}
