package org.pgonce.spring.slice;

import org.apache.ibatis.annotations.Insert;
import org.apache.ibatis.annotations.Mapper;

/** MyBatis. */
@Mapper
interface AuthorMapper {

  @Insert("INSERT INTO author (name) VALUES (#{name})")
  void add(String name);
}
