{conflict}BEGIN
{trial}  PERFORM {store}('{}', {payload}{version}){from}{where};
  RETURN NULL;
END
