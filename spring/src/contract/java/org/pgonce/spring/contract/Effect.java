package org.pgonce.spring.contract;

import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;

/** What a listener did. */
@Entity
class Effect {

  @Id
  @GeneratedValue(strategy = GenerationType.IDENTITY)
  private Long id;

  private long number;
  private String how;

  protected Effect() {}

  Effect(long number, String how) {
    this.number = number;
    this.how = how;
  }

  void becomes(String how) {
    this.how = how;
  }

  @Override
  public String toString() {
    return "effect " + id + " of " + number + ": " + how;
  }
}
