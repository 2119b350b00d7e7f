"""What `.github/workflows/release.yml` calls to make a release; docs/releasing.md explains it."""
