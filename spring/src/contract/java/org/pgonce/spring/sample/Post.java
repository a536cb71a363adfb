package org.pgonce.spring.sample;

import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;

@Entity
public class Post {

  @Id
  @GeneratedValue(strategy = GenerationType.IDENTITY)
  private Long id;

  private Long authorId;
  private String content;

  protected Post() {}

  public Post(Long authorId, String content) {
    this.authorId = authorId;
    this.content = content;
  }

  public Long getAuthorId() {
    return authorId;
  }

  public String getContent() {
    return content;
  }
}
