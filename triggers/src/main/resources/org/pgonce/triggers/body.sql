{conflict}BEGIN
{stores}{notifies}  RETURN NULL;
END
