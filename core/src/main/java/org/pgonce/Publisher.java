package org.pgonce;

/** Placeholder, replaced by the store station. */
final class Publisher {}
