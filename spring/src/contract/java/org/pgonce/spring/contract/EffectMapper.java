package org.pgonce.spring.contract;

import org.apache.ibatis.annotations.Insert;
import org.apache.ibatis.annotations.Mapper;

/** MyBatis. */
@Mapper
interface EffectMapper {

  @Insert("INSERT INTO effect (number, how) VALUES (#{number}, #{how})")
  void add(long number, String how);
}
