/**
 * What pgonce does, for those who watch it. {@link org.pgonce.micrometer.EventMeters} counts and
 * times what happens, {@link org.pgonce.micrometer.PgOnceMetrics} has gauges of what waits and of
 * what this process does, {@link org.pgonce.micrometer.HandlerObservation} and {@link
 * org.pgonce.micrometer.ObservedPublisher} trace, {@link org.pgonce.micrometer.LoggingContext} and
 * {@link org.pgonce.micrometer.FlightRecorder} say in logs and recordings which notification it is.
 */
@NullMarked
package org.pgonce.micrometer;

import org.jspecify.annotations.NullMarked;
