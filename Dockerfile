# The action's image. Root, because the runner's files may belong to anyone (GitHub's Dockerfile
# support page); exec form, because a shell would drop variables with hyphens in their names.
# The digest is an index of all platforms; Dependabot raises it. docs/releasing.md says what else was tried.
FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS base

FROM base AS build
ARG SOURCE_DATE_EPOCH
WORKDIR /src
COPY requirements-image.txt requirements-build.txt ./
RUN python -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements-build.txt
RUN python -m venv --without-pip /opt/safe-gate \
 && /opt/build/bin/pip --python /opt/safe-gate install --no-cache-dir --no-compile --disable-pip-version-check --require-hashes \
      --only-binary :all: -r requirements-image.txt
COPY pyproject.toml hatch_build.py README.md LICENSE LICENSE-UNICODE ./
COPY schemas schemas
COPY safe_gate safe_gate
RUN /opt/build/bin/pip wheel --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir /dist . \
 && /opt/build/bin/pip --python /opt/safe-gate install --no-cache-dir --no-compile --disable-pip-version-check --no-deps /dist/*.whl

# What a run needs and no more: no pip, none of the standard library's own tests and editors, all of it as bytecode, which
# the base image lacks. Bytecode that is never checked against its source does not depend on the time of the build.
FROM base AS files
COPY --from=build /opt/safe-gate /opt/safe-gate
RUN cd /usr/local/lib/python3.13 \
 && rm -rf site-packages/* ensurepip idlelib pydoc_data tkinter turtledemo test /usr/local/bin/pip* /usr/local/bin/idle* ~/.cache \
 && python -m compileall -q -f -j 0 --invalidation-mode unchecked-hash . /opt/safe-gate/lib

# One layer, so what was removed is not in the image.
FROM scratch
COPY --from=files / /
ENV PATH=/opt/safe-gate/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8
ARG VERSION REVISION SOURCE
LABEL org.opencontainers.image.title="SAFE Gate" \
      org.opencontainers.image.description="Judges recorded outputs of a language-model application before a merge." \
      org.opencontainers.image.licenses="MIT AND Unicode-DFS-2016" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.source="$SOURCE"
# The first process of a container ignores SIGTERM, and ends cleanly on an interrupt.
STOPSIGNAL SIGINT
ENTRYPOINT ["/opt/safe-gate/bin/python", "-I", "-m", "safe_gate"]
CMD ["run"]
