/** Meters, traces, logging context and flight recorder events. */
module org.pgonce.micrometer {
  requires transitive org.pgonce;
  requires transitive micrometer.core;
  requires transitive micrometer.observation;
  requires micrometer.commons;
  requires static transitive micrometer.tracing; // for WriterLinks alone
  requires static jdk.jfr; // for FlightRecorder alone
  requires org.slf4j;

  exports org.pgonce.micrometer;
}
