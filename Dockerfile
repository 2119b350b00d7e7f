# The action's image. Root, because the runner's files may belong to anyone (GitHub's Dockerfile
# support page); exec form, because a shell would drop variables with hyphens in their names.
FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements-image.txt requirements-build.txt ./
RUN python -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements-build.txt
RUN python -m venv --without-pip /opt/safe-gate \
 && /opt/build/bin/pip --python /opt/safe-gate install --no-cache-dir --disable-pip-version-check --require-hashes \
      --only-binary :all: -r requirements-image.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY schemas schemas
COPY safe_gate safe_gate
RUN /opt/build/bin/pip wheel --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir /dist . \
 && /opt/build/bin/pip --python /opt/safe-gate install --no-cache-dir --disable-pip-version-check --no-deps /dist/*.whl \
 && /opt/safe-gate/bin/python -m compileall -q /opt/safe-gate/lib

FROM python:3.13-slim
# The base image leaves out the standard library's bytecode; compiling what a run imports takes longer than to score it.
RUN python -m compileall -q -x /site-packages/ "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
COPY --from=build /opt/safe-gate /opt/safe-gate
# The first process of a container ignores SIGTERM, and ends cleanly on an interrupt.
STOPSIGNAL SIGINT
ENTRYPOINT ["/opt/safe-gate/bin/python", "-I", "-m", "safe_gate"]
CMD ["run"]
