package org.pgonce.spring.internal;

import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.TransactionRequiredException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.Tx;
import org.springframework.orm.jpa.EntityManagerFactoryInfo;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/**
 * Entity managers of another database. A handler's transaction is none of theirs, though Spring
 * takes it for one: what a handler would persist without a transaction of that database would be
 * lost. So it is refused.
 *
 * @param factory the bean, which is what Spring looks the entity manager up by
 */
record ForeignJpa(EntityManagerFactory factory, EntityManagerFactoryInfo info)
    implements JoinedResource {

  private static final Set<String> NEED_TRANSACTION =
      Set.of("persist", "merge", "remove", "refresh", "flush", "joinTransaction");

  @Override
  public Bound bind(Tx tx) {
    var entities = info.createNativeEntityManager(null);
    var holder = new EntityManagerHolder(refusing(entities));
    holder.setSynchronizedWithTransaction(true); // so that a transaction of its own has another
    TransactionSynchronizationManager.bindResource(factory, holder);
    TransactionSynchronizationManager.registerSynchronization(new Absence(factory, holder));
    return new Bound() {
      @Override
      public void unbind() {
        TransactionSynchronizationManager.unbindResourceIfPossible(factory);
        entities.close();
      }
    };
  }

  private EntityManager refusing(EntityManager entities) {
    return (EntityManager)
        Proxy.newProxyInstance(
            entities.getClass().getClassLoader(),
            ClassUtils.getAllInterfaces(entities),
            (proxy, method, arguments) -> call(entities, method, arguments));
  }

  private @Nullable Object call(
      EntityManager entities, Method method, @Nullable Object @Nullable [] arguments)
      throws Throwable {
    if (NEED_TRANSACTION.contains(method.getName())) {
      throw new TransactionRequiredException(
          "%s() on persistence unit %s in a listener: it is of another database than the listener's transaction. Call it in a @Transactional method of its own transaction manager"
              .formatted(method.getName(), info.getPersistenceUnitName()));
    }
    try {
      return method.invoke(entities, arguments);
    } catch (InvocationTargetException e) {
      throw e.getTargetException();
    }
  }

  /** Makes way for a transaction of that database, and for one that is suspended with ours. */
  record Absence(EntityManagerFactory factory, EntityManagerHolder holder)
      implements JoinedTransaction.OfResource {

    @Override
    public void suspend() {
      TransactionSynchronizationManager.unbindResourceIfPossible(factory);
    }

    @Override
    public void resume() {
      TransactionSynchronizationManager.bindResource(factory, holder);
    }
  }
}
