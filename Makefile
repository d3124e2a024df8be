# onefold: `make demo` starts the product with a populated site, `make test` is what CI runs.

GO       ?= go
PACKAGES ?= ./...
SEEDS    ?= 10000
FLIPS    ?= 2048
REQUESTS ?= 5000000
EVENTS   ?= 1000000
KILLS    ?= 40
DURATION ?= 1h
RATE ?= 4000
RUNS ?= 10
FUZZTIME ?= 30s
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# `make build`, `make test` and `make check` share one compilation of each package, also between clones: all build without
# cgo and without file paths, as releases do. A target that needs cgo sets it.
export GOFLAGS := $(strip $(GOFLAGS) $(if $(findstring -trimpath,$(GOFLAGS)),,-trimpath))
export CGO_ENABLED = 0

# Packages whose tests take longest are tested first, so that no processor is idle while they end.
LONGEST = $(if $(filter ./...,$(PACKAGES)),./cmd/onefold ./server ./server/events ./fold/foldsim ./engine ./eventstore/subscription ./cmd/onefold-bench)
# Without what debuggers read, test binaries are linked in less time. `make check` vets the packages, tests included.
LEAN = -vet=off -ldflags="-s -w"
# Test binaries and the linker allocate much and keep little. With fewer garbage collections they take a fifth to a third less processor
# time. Servers run with the same setting (cmd/internal/goruntime).
GARBAGE = GOGC=400
# Tests that wait for processes, browsers or disks run in parallel: more of them, and more packages, at a time than there are processors.
WAITING = -p 4 -parallel 4

.DEFAULT_GOAL := build
.PHONY: build build-duckdb bench-tools lambda dist notices docs pictures web test test-fast prose proofread lint browser typescript mosquitto postgres webservers dynalite openid servicespec check race fuzz simulate oracle nets test-busy soak ledger endurance chaos bench demo clean

build: web ## build bin/onefold, static and stripped
	$(GO) build -ldflags "-s -w -X main.version=$(VERSION)" -o bin/onefold ./cmd/onefold

build-duckdb: web ## build bin/onefold with DuckDB, for `onefold query`: with cgo, so it needs a C++ compiler, and is neither static nor small
	CGO_ENABLED=1 $(GO) build -tags duckdb -ldflags "-s -w -X main.version=$(VERSION)" -o bin/onefold ./cmd/onefold

bench-tools: build ## build bin/onefold-bench, the benchmarks; those of servers start bin/onefold
	$(GO) build -ldflags "-s -w -X main.version=$(VERSION)" -o bin/onefold-bench ./cmd/onefold-bench

lambda: web ## build what AWS Lambda runs: bin/onefold-lambda-arm64.zip and bin/onefold-lambda-amd64.zip, the same bytes each time
	@for arch in arm64 amd64; do mkdir -p bin/lambda-$$arch || exit 1; \
	  GOOS=linux GOARCH=$$arch $(GO) build -tags lambda.norpc -ldflags "-s -w -buildid=" -o bin/lambda-$$arch/bootstrap ./cmd/onefold-lambda || exit 1; \
	  $(GO) run ./cmd/onefold-lambda/zip bin/lambda-$$arch/bootstrap bin/onefold-lambda-$$arch.zip || exit 1; done

notices: web ## write bin/THIRD_PARTY_NOTICES.txt and bin/onefold.cdx.json, the licences and the bill of materials (CycloneDX) of a release
	$(GO) run ./packaging/notices -version $(VERSION) -out bin

dist: notices ## build dist/onefold_VERSION_SYSTEM_ARCH.tar.gz for Linux and macOS on amd64 and arm64, static, with their notices and checksums
	@rm -rf dist && mkdir -p dist && cp bin/onefold.cdx.json dist/onefold_$(VERSION).cdx.json
	@for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do \
	  name=onefold_$(VERSION)_$$(echo $$target | tr / _); mkdir -p dist/$$name || exit 1; \
	  GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -ldflags "-s -w -buildid= -X main.version=$(VERSION)" -o dist/$$name/onefold ./cmd/onefold || exit 1; \
	  cp LICENSE README.md CHANGELOG.md SECURITY.md bin/THIRD_PARTY_NOTICES.txt packaging/onefold.service packaging/onefold.env packaging/prometheus/onefold.rules.yml packaging/grafana/onefold.json dist/$$name/ || exit 1; \
	  tar -C dist -cf dist/$$name.tar $$name && gzip -n9 dist/$$name.tar || exit 1; rm -r dist/$$name; \
	  echo "dist/$$name.tar.gz: $$(wc -c < dist/$$name.tar.gz) bytes"; \
	done
	@cd dist && if command -v sha256sum >/dev/null; then sha256sum *.tar.gz *.json; else shasum -a 256 *.tar.gz *.json; fi > checksums.txt

docs: web ## write the designs of the schemas again, which a test holds to what the schemas say
	@for schema in $(patsubst docs/design/%.md,%,$(wildcard docs/design/*.md)); do $(GO) run ./cmd/onefold design --schema $$schema --out docs/design/$$schema.md || exit 1; done
	@for schema in orders social ledger; do $(GO) run ./cmd/onefold design --schema examples/$$schema --out examples/$$schema/design.md || exit 1; done

web: server/tracker/dist/onefold.js server/dashboard/dist/web/index.html ## build what browsers run, to be embedded

server/tracker/node_modules/.package-lock.json: server/tracker/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer, with npm; it builds what browsers run" >&2; exit 1; }
	npm ci --prefix server/tracker --no-audit --no-fund
	@touch $@

server/tracker/dist/onefold.js: server/tracker/node_modules/.package-lock.json $(wildcard server/tracker/src/*.js)
	npm run --prefix server/tracker build

server/dashboard/node_modules/.package-lock.json: server/dashboard/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer, with npm; it builds what browsers run" >&2; exit 1; }
	npm ci --prefix server/dashboard --no-audit --no-fund
	@touch $@

server/dashboard/dist/web/index.html: server/dashboard/node_modules/.package-lock.json server/dashboard/index.html server/dashboard/vite.config.ts $(wildcard server/dashboard/src/* server/dashboard/src/*/*)
	npm run --prefix server/dashboard build

test: web lint proofread dynalite openid servicespec browser typescript mosquitto postgres webservers ## everything that CI runs: lint, then every test
	$(GARBAGE) ONEFOLD_TEST_DYNALITE=1 ONEFOLD_TEST_OPENID=1 ONEFOLD_TEST_SERVICESPEC=1 $(GO) test $(LEAN) $(WAITING) -timeout 60m $(LONGEST) $(PACKAGES)
	CGO_ENABLED=1 $(GO) test $(LEAN) -tags duckdb ./warehouse/duck ./cmd/onefold/internal/querycli

test-fast: ## what to run while you work: tests that need no browsers, processes or programs of others, with few seeds
	$(GARBAGE) $(GO) test $(LEAN) -short $(PACKAGES)

browser: server/e2e/node_modules/.package-lock.json ## install what drives a browser through the pages, and a browser where that is allowed
	@command -v chromium chromium-browser google-chrome >/dev/null || \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -q && apt-get install -qy --no-install-recommends chromium; \
	  else echo "chromium is missing: install it to run the tests in a browser, which are skipped" >&2; fi

typescript: server/clients/typescript/node_modules/.package-lock.json server/clients/tracker/node_modules/.package-lock.json ## install what checks and tests the npm packages

server/clients/tracker/node_modules/.package-lock.json: server/clients/tracker/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20.3 or newer, with npm; it tests the npm package of the tracker" >&2; exit 1; }
	npm ci --prefix server/clients/tracker --no-audit --no-fund
	@touch $@

server/clients/typescript/node_modules/.package-lock.json: server/clients/typescript/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20.3 or newer, with npm; it tests the TypeScript client" >&2; exit 1; }
	npm ci --prefix server/clients/typescript --no-audit --no-fund
	@touch $@

mosquitto: ## install a client of MQTT that a test publishes with, where that is allowed
	@command -v mosquitto_pub >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && apt-get install -qy --no-install-recommends mosquitto-clients; } || \
	  echo "mosquitto_pub is missing: install Debian's package mosquitto-clients to run the test that publishes with it, which is skipped" >&2

postgres: ## install a PostgreSQL server that tests start, where that is allowed
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && apt-get install -qy --no-install-recommends postgresql; } || \
	  echo "initdb is missing: install Debian's package postgresql to run the tests on PostgreSQL, which are skipped" >&2

webservers: ## install nginx, Caddy and PHP, with which tests run examples, where that is allowed
	@command -v nginx caddy php >/dev/null && [ $$(command -v nginx caddy php | wc -l) = 3 ] || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && apt-get install -qy --no-install-recommends nginx-light caddy php-cli; } || \
	  echo "nginx, caddy or php is missing: install Debian's packages nginx-light, caddy and php-cli to run the tests of proxies and of the WordPress plugin, which are skipped" >&2

server/e2e/node_modules/.package-lock.json: server/e2e/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer, with npm; it drives the browser" >&2; exit 1; }
	npm ci --prefix server/e2e --no-audit --no-fund
	@touch $@

dynalite: dynamo/dynamotest/dynalite/node_modules/.package-lock.json ## install the other implementation that the suite is run against

dynamo/dynamotest/dynalite/node_modules/.package-lock.json: dynamo/dynamotest/dynalite/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer, with npm; the tests run dynalite" >&2; exit 1; }
	npm ci --prefix dynamo/dynamotest/dynalite --no-audit --no-fund
	@touch $@

openid: server/accounts/openid/openidtest/provider/node_modules/.package-lock.json ## install the OpenID provider that tests log in with

server/accounts/openid/openidtest/provider/node_modules/.package-lock.json: server/accounts/openid/openidtest/provider/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer, with npm; tests run an OpenID provider" >&2; exit 1; }
	npm ci --prefix server/accounts/openid/openidtest/provider --no-audit --no-fund
	@touch $@

servicespec: blueprint/infra/servicespec/node_modules/.package-lock.json ## install AWS's own description of what templates may say

blueprint/infra/servicespec/node_modules/.package-lock.json: blueprint/infra/servicespec/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer, with npm; the tests check templates with it" >&2; exit 1; }
	npm ci --prefix blueprint/infra/servicespec --no-audit --no-fund
	@touch $@

test-busy: web dynalite openid servicespec browser typescript mosquitto postgres webservers ## every test RUNS (10) times in a row while other programs keep all processors busy
	@set -e; busy=; trap 'kill $$busy 2>/dev/null || true' EXIT; trap 'exit 130' INT TERM; \
	for n in $$(seq $$(getconf _NPROCESSORS_ONLN)); do (while :; do :; done) & busy="$$busy $$!"; done; \
	$(GARBAGE) ONEFOLD_TEST_DYNALITE=1 ONEFOLD_TEST_OPENID=1 ONEFOLD_TEST_SERVICESPEC=1 $(GO) test $(LEAN) $(WAITING) -count=$(RUNS) -failfast -timeout 0 $(LONGEST) $(PACKAGES)

check: lint ## vet, staticcheck and the house rules
	$(GO) test -count=1 .

prose: proofread ## check the language of documents, help texts and labels with Vale
	$(GO) test -count=1 ./packaging/prose

# What `make test` does before the tests, which include those of `make check` and `make prose`.
lint:
	$(GO) vet $(PACKAGES)
	$(GO) tool staticcheck $(PACKAGES)
	CGO_ENABLED=1 $(GO) vet -tags duckdb ./warehouse/duck ./cmd/onefold/internal/querycli

proofread: bin/vale
	@bin/vale --no-global --output=line $(PROSE) && echo "Checked $(words $(PROSE)) documents."
	$(GO) run ./packaging/prose bin/vale

# Documents that people write: design documents are generated.
PROSE = $(filter-out docs/design/%,$(wildcard *.md docs/*.md docs/*/*.md examples/*/README.md server/clients/*/README.md))

# Vale has a module of its own, so that its dependencies are none of onefold's. It needs cgo and is built once.
bin/vale: packaging/prose/vale/go.mod packaging/prose/vale/go.sum
	@command -v "$$($(GO) env CC)" >/dev/null || { echo "a C compiler is missing: install gcc or clang; Vale is built with it" >&2; exit 1; }
	CGO_ENABLED=1 $(GO) build -C packaging/prose/vale -ldflags="-s -w" -o $(CURDIR)/bin/vale github.com/vale-cli/vale/v3/cmd/vale
	@touch $@

race: ## every test under the race detector, which needs cgo
	CGO_ENABLED=1 $(GO) test -race -timeout 90m $(PACKAGES)

fuzz: ## each fuzz target for FUZZTIME
	@set -e; for package in $$($(GO) list $(PACKAGES)); do \
	  for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "$$package $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
	  done; done

simulate: ## the fold simulator, the engine on disks that fail, over SEEDS seeds, and with FLIPS bits flipped
	ONEFOLD_SIM_SEEDS=$(SEEDS) ONEFOLD_DISK_SEEDS=$(SEEDS) $(GO) test -count=1 -timeout 60m -v ./fold/foldsim
	ONEFOLD_FAULT_SEEDS=$(SEEDS) $(GO) test -count=1 -timeout 60m -v -run 'TestFaults$$' ./engine
	ONEFOLD_FLIPS=$(FLIPS) $(GO) test -count=1 -timeout 60m -v -run 'TestFlippedBits$$' ./engine/salvage

oracle: ## REQUESTS random writes to the engine and to a naive model of DynamoDB, compared after each
	ONEFOLD_SIM_SEEDS=$$(( ($(REQUESTS) + 1999) / 2000 )) $(GO) test -count=1 -timeout 60m -v -run 'TestOracle$$' ./engine

# Tests that compare with a naive model or recount, and the package of each.
NETS = ./engine:TestOracle ./engine:TestOracleOfStreams ./engine:TestOrderOfValidation \
	./server/webanalytics:TestEveryBreakdownAddsUp ./server/webanalytics:TestImportedCountsAddUp \
	./server/webanalytics:TestPlausibleCountsAddUp ./server/webanalytics:TestSumsOutliveEvents \
	./server/webanalytics:TestSumsAfterErasure ./server/devices:TestRecount \
	./telemetry:TestTagsAndLimitsAgainstAModel ./telemetry:TestFinestResolution ./telemetry:TestSequenceNumbers \
	./telemetry/recount:TestPlantedDifferences ./telemetry/alerts:TestOneOrder

nets: web ## each test of NETS with fresh seeds for DURATION, until one finds a difference, whose seed is printed last
	@set -e; for net in $(NETS); do echo "$$net for $(DURATION)"; \
	  ONEFOLD_SIM_FOR=$(DURATION) $(GO) test -count=1 -timeout 0 -run "^$${net##*:}\$$" "$${net%%:*}"; done

soak: web ## EVENTS events to a server that is killed again and again; ONEFOLD_SOAK_DELAYS=0s,30s says what folds wait
	ONEFOLD_SOAK_EVENTS=$(EVENTS) $(GO) test -count=1 -timeout 0 -v -run 'TestSoak$$' ./cmd/onefold

ledger: web ## KILLS kills of a server under page views, readings, appends and changed settings
	ONEFOLD_LEDGER_KILLS=$(KILLS) $(GO) test -count=1 -timeout 60m -run '^TestKillLedger$$' -v ./cmd/onefold

endurance: web ## DURATION (1h) of RATE events a second to a server with everything on, and what it takes of the machine
	ONEFOLD_ENDURANCE=$(DURATION) ONEFOLD_ENDURANCE_RATE=$(RATE) $(GO) test -count=1 -timeout 0 -v -run '^TestEndurance$$' ./cmd/onefold

chaos: web ## EVENTS events to two servers and three workers on one table, of which all goes wrong that can
	ONEFOLD_SOAK_EVENTS=$(EVENTS) $(GO) test -count=1 -timeout 0 -v -run 'TestChaos$$' ./cmd/onefold

bench: bench-tools ## the import benchmark: a generated log of two million lines
	bin/onefold-bench import

demo: build ## start the product on a fresh directory with 90 days of two sites and a week of a fleet
	bin/onefold demo

pictures: build server/e2e/node_modules/.package-lock.json browser ## take the README's pictures of the dashboard again, from a running demo
	CHROMIUM="$$(command -v chromium chromium-browser google-chrome | head -n 1)" node server/e2e/pictures.mjs bin/onefold docs/images

clean:
	rm -rf bin dist
