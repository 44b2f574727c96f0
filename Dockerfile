# dbdyno for a user without privileges, with everything that its tests need:
#
#   docker build -t dbdyno .
#   docker run --rm dbdyno                                   the quickstart
#   docker run --rm dbdyno cargo xtask test                  all tests
#   docker run --rm -v "$PWD:/work" -w /work dbdyno dbdyno run mine.toml
FROM docker.io/library/rust:1-bookworm
COPY . /dbdyno
WORKDIR /dbdyno
RUN cargo xtask packages \
    && useradd --create-home dyno \
    && chown -R dyno /dbdyno "$CARGO_HOME"
USER dyno
RUN cargo install --locked --path .
CMD ["dbdyno", "run", "quickstart"]
