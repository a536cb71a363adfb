/** Payloads as JSON by Jackson: 3, or 2 where that is what there is. */
module org.pgonce.jackson {
  requires transitive org.pgonce;
  requires org.slf4j;
  requires transitive tools.jackson.databind;
  requires static com.fasterxml.jackson.databind;

  exports org.pgonce.jackson;

  // They try themselves on a record of it.
  opens org.pgonce.jackson to
      com.fasterxml.jackson.databind,
      tools.jackson.databind;

  provides org.pgonce.spi.CodecProvider with
      org.pgonce.jackson.JacksonCodecs;
}
