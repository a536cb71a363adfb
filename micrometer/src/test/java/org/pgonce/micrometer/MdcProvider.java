package org.pgonce.micrometer;

import org.slf4j.helpers.BasicMDCAdapter;
import org.slf4j.simple.SimpleServiceProvider;
import org.slf4j.spi.MDCAdapter;

/** SLF4J's simple logger, which has no MDC, with one. Named by the property slf4j.provider. */
public final class MdcProvider extends SimpleServiceProvider {

  private final MDCAdapter mdc = new BasicMDCAdapter();

  /** SLF4J makes one. */
  public MdcProvider() {}

  @Override
  public MDCAdapter getMDCAdapter() {
    return mdc;
  }
}
