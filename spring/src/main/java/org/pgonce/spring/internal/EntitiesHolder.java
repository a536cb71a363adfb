package org.pgonce.spring.internal;

import jakarta.persistence.EntityManager;
import org.springframework.orm.jpa.EntityManagerHolder;

/** An entity manager as Spring's current one, in a transaction that another begins and ends. */
final class EntitiesHolder extends EntityManagerHolder {

  EntitiesHolder(EntityManager entities) {
    super(entities);
    setTransactionActive(true); // so that @Transactional joins
    setSynchronizedWithTransaction(true);
  }
}
