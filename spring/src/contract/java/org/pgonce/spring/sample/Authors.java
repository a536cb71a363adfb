package org.pgonce.spring.sample;

import org.springframework.data.jpa.repository.JpaRepository;

public interface Authors extends JpaRepository<Author, Long> {}
