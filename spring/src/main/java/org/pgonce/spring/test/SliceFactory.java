package org.pgonce.spring.test;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.TestContextAnnotationUtils;

/** Reads the test's {@link PgOnceListenerTest}. */
final class SliceFactory implements ContextCustomizerFactory {

  @Override
  public @Nullable ContextCustomizer createContextCustomizer(
      Class<?> test, List<ContextConfigurationAttributes> configuration) {
    var slice = TestContextAnnotationUtils.findMergedAnnotation(test, PgOnceListenerTest.class);
    return slice == null ? null : new Slice(names(slice.listeners()));
  }

  private static Set<String> names(Class<?>[] types) {
    return Stream.of(types).map(Class::getName).collect(Collectors.toSet());
  }
}
