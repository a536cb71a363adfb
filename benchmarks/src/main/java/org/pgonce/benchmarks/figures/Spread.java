package org.pgonce.benchmarks.figures;

/** The median of the rounds, and how far they lie apart. */
public record Spread(double median, double min, double max) {}
