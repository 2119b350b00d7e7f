from tests.support.hostile import surfaces  # noqa: F401 - a fixture
