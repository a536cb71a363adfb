package org.pgonce.spring.sample;

import java.util.List;
import org.springframework.data.jpa.repository.JpaRepository;

public interface Posts extends JpaRepository<Post, Long> {

  List<Post> findByAuthorId(Long authorId);
}
