"""What several tests of this folder need."""

from tests.support.hostile import surfaces  # noqa: F401 - a fixture
