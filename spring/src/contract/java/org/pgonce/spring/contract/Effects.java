package org.pgonce.spring.contract;

import org.springframework.data.jpa.repository.JpaRepository;

interface Effects extends JpaRepository<Effect, Long> {}
