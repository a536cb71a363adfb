package org.pgonce.spring.internal;

import java.util.ArrayList;
import java.util.List;
import org.pgonce.PgOnce;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;

/**
 * Refuses another PgOnce bean: its handlers would not run in Spring's transaction, and nothing
 * would show it.
 */
final class OnlyPgOnce implements BeanFactoryPostProcessor {

  static final String NAME = "pgOnce";

  @Override
  public void postProcessBeanFactory(ConfigurableListableBeanFactory beans) {
    var others = new ArrayList<>(List.of(beans.getBeanNamesForType(PgOnce.class, true, false)));
    others.removeIf(name -> isOurs(beans, name) || isForOthers(beans, name));
    if (!others.isEmpty()) {
      throw new Refusal(
          "bean %s is a PgOnce beside the starter's: what its handlers do through Spring would not be in the notification's transaction. Set what you need on the starter's, by properties or a PgOnceCustomizer bean. If it is for another database and its handlers use Tx alone, define it with @Bean(defaultCandidate = false)"
              .formatted(String.join(", ", others)));
    }
  }

  private static boolean isOurs(ConfigurableListableBeanFactory beans, String name) {
    return name.equals(NAME)
        && beans.containsBeanDefinition(name)
        && PgOnceConfiguration.class
            .getName()
            .equals(beans.getBeanDefinition(name).getFactoryBeanName());
  }

  private static boolean isForOthers(ConfigurableListableBeanFactory beans, String name) {
    return beans.containsBeanDefinition(name)
        && beans.getBeanDefinition(name) instanceof AbstractBeanDefinition definition
        && !definition.isDefaultCandidate();
  }
}
