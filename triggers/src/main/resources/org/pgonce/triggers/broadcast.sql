  PERFORM {store}({payload}{version}){from}{where};
