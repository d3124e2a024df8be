# onefold in a container: docker build -t onefold . && docker run -p 8090:8090 -v onefold:/data onefold
# What browsers run is built first, then the program, static; the image holds that program and nothing that could be broken into.
FROM node:22-bookworm-slim AS web
WORKDIR /src
COPY server/tracker server/tracker
COPY server/dashboard server/dashboard
RUN npm ci --prefix server/tracker --no-audit --no-fund && npm run --prefix server/tracker build \
 && npm ci --prefix server/dashboard --no-audit --no-fund && npm run --prefix server/dashboard build

FROM golang:1.26-bookworm AS build
ARG VERSION=dev
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
COPY --from=web /src/server/tracker/dist server/tracker/dist
COPY --from=web /src/server/dashboard/dist server/dashboard/dist
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /onefold ./cmd/onefold \
 && go run ./packaging/notices -version "$VERSION" -out /licenses \
 && mkdir /data

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /onefold /onefold
COPY --from=build /licenses /licenses
# The volume is the user's of the image. The table is in a folder of it, so that what is kept beside the table is in it as well.
COPY --from=build --chown=65532:65532 /data /data
VOLUME /data
ENV ONEFOLD_DATA_DIR=/data/table ONEFOLD_ADDR=0.0.0.0:8090
EXPOSE 8090
USER 65532:65532
STOPSIGNAL SIGTERM
# Whoever restarts a container that is not healthy must not do so because its table is away: only whether the process answers is asked.
HEALTHCHECK --interval=30s --timeout=6s --start-period=20s CMD ["/onefold", "health", "--live", "http://127.0.0.1:8090"]
ENTRYPOINT ["/onefold"]
CMD ["serve"]
