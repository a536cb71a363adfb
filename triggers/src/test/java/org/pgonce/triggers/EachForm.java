package org.pgonce.triggers;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.provider.ArgumentsSource;
import org.junit.jupiter.params.support.ParameterDeclarations;

/**
 * A parameterized test of each form of a trigger; of the default one alone where the build leaves
 * out what takes long. {@link EventsTest} and {@link RandomWorkloadTest} meet all forms anyway.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@ArgumentsSource(EachForm.Forms.class)
@interface EachForm {

  /** For JUnit. */
  final class Forms implements ArgumentsProvider {

    private static final boolean IS_SHORT =
        "all".equals(System.getProperty("pgonce.test.excluded"));

    @Override
    public Stream<Arguments> provideArguments(
        ParameterDeclarations parameters, ExtensionContext context) {
      return Stream.of(TriggerForm.values())
          .limit(IS_SHORT ? 1 : Long.MAX_VALUE)
          .map(Arguments::of);
    }
  }
}
