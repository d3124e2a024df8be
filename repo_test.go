// Package onefold_test holds the house rules: who may import whom, how long a thing may be before it has to explain
// itself, and what may not be left lying about. A failure says what to do instead.
package onefold_test

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/onefold/onefold"

// policy says, for each package, what of the project and of other modules it may import. A folder's line holds for
// the folders below it that have none of their own. Anything unlisted is refused. The standard library is free.
//
// `vocabulary` stands for the AWS SDK's request, response and value types, which every package speaks.
var policy = map[string][]string{
	"dynamo":            {"vocabulary"},
	"dynamo/dynamotest": {"vocabulary", "dynamo"},
	"dynamo/dynamojson": {"vocabulary"},
	"dynamo/resilient":  {"vocabulary", "dynamo", "internal/redact", "internal/backoff", "golang.org/x/sync/..."},

	"dynamo/dynamohttp": {"vocabulary", "dynamo", "dynamo/dynamojson", "github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas",
		"github.com/prometheus/client_golang/..."},

	"engine":                 {"vocabulary", "dynamo", "engine/internal/...", "internal/backoff", "github.com/cockroachdb/pebble/v2/...", "github.com/cespare/xxhash/v2"},
	"engine/internal/backup": {"github.com/cockroachdb/pebble/v2/vfs"},
	"engine/internal/store":  {"dynamo", "engine/internal/damage", "engine/internal/logfile", "engine/internal/row", "github.com/aws/smithy-go", "github.com/cockroachdb/pebble/v2", "github.com/cockroachdb/pebble/v2/bloom", "github.com/cockroachdb/pebble/v2/sstable", "github.com/cockroachdb/pebble/v2/vfs", "golang.org/x/time/rate"},
	"engine/internal/damage": {"engine/internal/row", "github.com/cockroachdb/pebble/v2", "github.com/cockroachdb/pebble/v2/sstable", "github.com/cockroachdb/pebble/v2/vfs", "golang.org/x/sys/unix"},

	"engine/internal/logfile": {"github.com/cockroachdb/pebble/v2/vfs/..."},
	"engine/salvage":          {"vocabulary", "engine/internal/...", "github.com/cockroachdb/pebble/v2/..."},

	"engine/enginetest": {"vocabulary", "dynamo", "engine", "dynamo/dynamohttp", "github.com/aws/aws-sdk-go-v2/...", "github.com/cockroachdb/pebble/v2/vfs"},

	"engine/internal": {"vocabulary", "engine/internal/...", "github.com/cespare/xxhash/v2", "github.com/cockroachdb/apd/v3", "github.com/hashicorp/golang-lru/v2"},

	"table/internal": {"vocabulary"},

	"table":             {"vocabulary", "dynamo", "table/internal/...", "internal/backoff", "github.com/cespare/xxhash/v2", "github.com/hashicorp/golang-lru/v2", "golang.org/x/sync/..."},
	"table/purge":       {"vocabulary", "table", "golang.org/x/sync/..."},
	"table/writebehind": {"vocabulary", "dynamo", "dynamo/dynamojson", "table", "internal/spool"},
	"table/upsert":      {"table", "engine"}, // its tests use the engine
	"fold": {"vocabulary", "dynamo", "table", "fold/...", "internal/block", "internal/backoff", "internal/varint", "github.com/hashicorp/golang-lru/v2/...", "golang.org/x/sync/...", "pgregory.net/rapid",
		"internal/seeds"}, // its tests

	"fold/lease":             {"vocabulary", "dynamo", "table", "fold/internal/requests", "internal/backoff", "golang.org/x/sync/errgroup"},
	"fold/internal/requests": {"vocabulary", "dynamo", "table", "internal/backoff"},

	"fold/streamsource": {"dynamo", "table", "fold", "fold/internal/record", "internal/backoff", "github.com/aws/aws-sdk-go-v2/..."},

	"fold/foldtest": {"vocabulary", "dynamo", "table", "fold", "fold/foldsim", "fold/streamsource", "engine"},

	"analytics": {"vocabulary", "dynamo", "table", "table/writebehind", "fold", "analytics/internal/...", "analytics/filtered", "analytics/imported", "internal/...",
		"github.com/cespare/xxhash/v2", "github.com/oklog/ulid/v2", "golang.org/x/sync/..."},

	"packaging/notices":      {"github.com/CycloneDX/cyclonedx-go"},
	"packaging/prose":        {},
	"analytics/report":       {"table", "analytics", "analytics/imported", "analytics/internal/...", "internal/calendar", "internal/decimal", "golang.org/x/sync/..."},
	"analytics/filtered":     {"vocabulary", "table"},
	"analytics/reconcile":    {"vocabulary", "table", "fold", "analytics", "analytics/report", "analytics/internal/tally", "internal/calendar", "golang.org/x/sync/..."},
	"analytics/explore":      {"vocabulary", "dynamo", "table", "analytics", "analytics/report", "analytics/internal/...", "internal/...", "github.com/cespare/xxhash/v2", "github.com/klauspost/compress/...", "github.com/oklog/ulid/v2", "golang.org/x/sync/..."},
	"analytics/erasure":      {"vocabulary", "dynamo", "table", "table/purge", "fold", "analytics", "analytics/report", "analytics/reconcile", "internal/calendar", "github.com/oklog/ulid/v2", "golang.org/x/sync/..."},
	"analytics/installation": {"table", "analytics"},
	"analytics/annotations":  {"vocabulary", "table", "analytics", "internal/calendar", "github.com/oklog/ulid/v2", "engine"}, // its tests use the engine
	"analytics/segments":     {"vocabulary", "table", "analytics", "analytics/explore", "engine"},                             // its tests use the engine
	"analytics/goals":        {"vocabulary", "table", "analytics", "analytics/report", "internal/calendar"},
	"analytics/notify": {"vocabulary", "table", "table/delivery", "table/upsert", "analytics", "github.com/oklog/ulid/v2",
		"analytics/erasure", "dynamo", "engine"}, // its tests: a site that is deleted, writes that race
	"analytics/wording":      {"analytics", "analytics/contribution", "analytics/goals"},
	"analytics/digest":       {"table", "table/delivery", "table/upsert", "analytics", "analytics/contribution", "analytics/goals", "analytics/notify", "analytics/report", "analytics/wording", "internal/calendar", "github.com/oklog/ulid/v2"},
	"analytics/alerts":       {"table", "table/delivery", "table/upsert", "analytics", "analytics/contribution", "analytics/goals", "analytics/notify", "analytics/report", "analytics/wording", "internal/calendar", "internal/episode"},
	"analytics/contribution": {"analytics", "analytics/report", "internal/decimal"},
	"analytics/imported": {"table", "analytics/imported/exports", "analytics/internal/...", "internal/calendar", "internal/mask", "golang.org/x/sync/...",
		"analytics", "analytics/reconcile", "analytics/report"}, // its tests: it is a part of reports
	"analytics/imported/exports": {"analytics/internal/...", "internal/calendar", "internal/decimal", "internal/mask", "internal/referral", "golang.org/x/text/language/..."},

	"analytics/internal": {"vocabulary", "dynamo", "table", "analytics/internal/...", "internal/..."},

	"telemetry/readings": {"vocabulary", "dynamo", "table", "table/purge", "fold", "telemetry/internal/...", "internal/...", "github.com/cespare/xxhash/v2",
		"github.com/oklog/ulid/v2", "golang.org/x/sync/..."},

	"telemetry": {"vocabulary", "dynamo", "table", "table/writebehind", "table/purge", "fold", "telemetry/readings", "telemetry/internal/...", "internal/...", "github.com/cespare/xxhash/v2",
		"github.com/oklog/ulid/v2", "golang.org/x/sync/...",
		"telemetry", "telemetry/payload"}, // its tests: devices speak it
	"telemetry/alerts": {"vocabulary", "table", "fold", "telemetry", "telemetry/readings", "telemetry/presence", "telemetry/internal/episode", "telemetry/internal/decimalsum", "internal/calendar", "internal/backoff", "table/delivery", "table/upsert",
		"github.com/oklog/ulid/v2", "golang.org/x/sync/...",
		"telemetry/maintenance"}, // its tests
	"telemetry/reindex": {"table", "fold", "telemetry"},
	"telemetry/credentials": {"table", "telemetry", "telemetry/internal/secret",
		"fold"}, // its tests
	"telemetry/maintenance": {"vocabulary", "table", "table/purge", "telemetry", "telemetry/readings",
		"fold"}, // its tests
	"telemetry/presence": {"table", "fold", "telemetry", "telemetry/readings",
		"telemetry/internal/cadence"}, // its tests
	"telemetry/payload": {"telemetry", "internal/lineprotocol", "github.com/go-json-experiment/json/..."},
	"telemetry/query": {"vocabulary", "table", "telemetry", "telemetry/readings", "telemetry/internal/...", "internal/calendar", "golang.org/x/sync/errgroup",
		"fold"}, // its tests
	"telemetry/promql": {"table", "telemetry", "telemetry/readings", "golang.org/x/sync/errgroup", "github.com/prometheus/common/model", "github.com/prometheus/prometheus/..."},
	"telemetry/recount": {"table", "fold", "telemetry", "telemetry/reindex", "telemetry/internal/bucket", "telemetry/internal/figures", "internal/calendar",
		"vocabulary", "internal/devicesim", "telemetry/internal/decimalsum", "telemetry/internal/order", "telemetry/payload", "telemetry/presence"}, // its tests

	"eventstore":          {"vocabulary", "dynamo", "table", "fold", "internal/...", "github.com/hashicorp/golang-lru/v2", "github.com/oklog/ulid/v2", "golang.org/x/sync/..."},
	"eventstore/registry": {"eventstore", "eventstore/eventschema"},
	"eventstore/eventschema": {"table", "eventstore", "github.com/santhosh-tekuri/jsonschema/v6/...", "github.com/google/jsonschema-go/jsonschema", "golang.org/x/text/...",
		"engine", "internal/seeds"}, // its tests
	"eventstore/eventjson":  {"eventstore"},
	"eventstore/embedded":   {"eventstore", "eventstore/shred", "engine", "fold", "fold/streamsource", "table"},
	"eventstore/projection": {"vocabulary", "table", "fold", "eventstore", "eventstore/eventjson", "internal/backoff", "golang.org/x/sync/..."},
	"eventstore/projection/sqlprojection": {"eventstore", "eventstore/projection", "eventstore/registry", "internal/backoff",
		"github.com/jackc/pgx/v5/...", "modernc.org/sqlite"}, // its tests
	"eventstore/subscription": {"vocabulary", "dynamo", "table", "fold/lease", "eventstore", "internal/backoff",
		"engine", "fold", "fold/streamsource", "internal/seeds"}, // its tests
	"eventstore/process": {"table", "fold/lease", "eventstore", "eventstore/registry", "eventstore/subscription", "internal/backoff", "golang.org/x/sync/...",
		"vocabulary", "dynamo", "engine", "fold", "fold/streamsource", "internal/seeds"}, // its tests
	"eventstore/outbox": {"eventstore", "eventstore/subscription", "internal/backoff", "internal/webhook"},
	"eventstore/outbox/nats": {"eventstore/outbox", "eventstore/subscription", "github.com/nats-io/nats.go/...",
		"eventstore", "github.com/nats-io/nats-server/v2/server"}, // its tests
	"eventstore/outbox/internal/requests": {"eventstore/subscription"},
	"eventstore/outbox/eventbridge": {"eventstore/outbox", "eventstore/outbox/internal/requests", "github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/aws-sdk-go-v2/service/eventbridge/...",
		"eventstore", "eventstore/subscription"}, // its tests
	"eventstore/outbox/sns": {"eventstore/outbox", "eventstore/outbox/internal/requests", "github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/aws-sdk-go-v2/service/sns/...",
		"eventstore", "eventstore/subscription"}, // its tests
	"eventstore/outbox/kafka": {"eventstore/outbox", "eventstore/subscription", "github.com/twmb/franz-go/pkg/kgo", "github.com/twmb/franz-go/pkg/kerr",
		"eventstore", "github.com/twmb/franz-go/pkg/kfake", "github.com/twmb/franz-go/pkg/kmsg"}, // its tests
	"eventstore/eventstoretest": {"vocabulary", "dynamo", "table", "eventstore", "eventstore/registry", "eventstore/shred", "engine/enginetest", "internal/seeds"},

	"blueprint/lint": {"vocabulary", "table", "blueprint/cost",
		"server/accounts", "analytics", "telemetry", "eventstore"}, // its tests: what it looks at
	"blueprint/infra": {"vocabulary", "dynamo", "dynamo/dynamojson", "table", "github.com/hashicorp/hcl/v2/...", "github.com/zclconf/go-cty/...", "go.yaml.in/yaml/v3",
		"analytics", "telemetry", "eventstore", "server/accounts", "blueprint/infra/iamtest"}, // its tests: what it deploys
	"blueprint/infra/iamtest": {"vocabulary", "dynamo", "table"},
	"blueprint/page":          {"blueprint", "table", "analytics", "telemetry", "eventstore"}, // the last three in its tests: what it describes
	"blueprint/workbench": {"blueprint", "table",
		"blueprint/diff", "analytics", "telemetry", "eventstore"}, // its tests
	"blueprint/diff": {"blueprint", "table"},
	"blueprint/heat": {"blueprint", "table",
		"analytics", "telemetry", "telemetry/alerts"}, // its tests: what it looks at
	"blueprint/cost": {"blueprint", "table",
		"analytics", "eventstore"}, // its tests
	"blueprint": {"vocabulary", "dynamo", "dynamo/dynamojson", "table", "github.com/oklog/ulid/v2",
		"analytics", "telemetry", "eventstore", "examples/..."}, // its tests: what it describes

	"eventstore/archive": {"vocabulary", "table", "eventstore", "eventstore/eventjson", "eventstore/fsck", "eventstore/shred", "github.com/klauspost/compress/...",
		"github.com/oklog/ulid/v2", "github.com/parquet-go/parquet-go/...",
		"eventstore/projection"}, // its tests
	"eventstore/shred": {"vocabulary", "table", "eventstore", "internal/backoff", "github.com/hashicorp/golang-lru/v2",
		"eventstore/fsck"}, // its tests
	"eventstore/fsck": {"vocabulary", "dynamo", "table", "eventstore", "github.com/oklog/ulid/v2",
		"eventstore/projection"}, // its tests: what it compares

	"warehouse": {"analytics", "eventstore", "telemetry", "github.com/klauspost/compress/zstd", "github.com/oklog/ulid/v2", "github.com/parquet-go/parquet-go/...",
		"warehouse/warehousetest"}, // its tests
	"warehouse/export": {"vocabulary", "dynamo", "table", "fold", "analytics", "eventstore", "telemetry", "telemetry/readings", "warehouse", "internal/backoff", "golang.org/x/sync/...",
		"warehouse/warehousetest"}, // its tests
	"warehouse/athena":        {"warehouse"},
	"warehouse/warehousetest": {"warehouse"},

	"telemetry/internal": {"vocabulary", "telemetry/internal/...", "internal/...", "github.com/cespare/xxhash/v2", "github.com/cockroachdb/apd/v3", "github.com/DataDog/sketches-go/ddsketch/mapping", "golang.org/x/time/rate"},

	"table/delivery": {"table", "internal/webhook"},

	"server/accounts": {"vocabulary", "dynamo", "table", "server/accounts/passkey", "server/accounts/openid", "internal/backoff", "github.com/oklog/ulid/v2", "github.com/pquerna/otp/...", "golang.org/x/crypto/argon2"},

	"server/accounts/passkey": {"github.com/go-webauthn/webauthn/protocol", "github.com/go-webauthn/webauthn/webauthn"},

	"server/accounts/passkey/passkeytest": {},

	"server/accounts/openid": {"github.com/coreos/go-oidc/v3/oidc", "golang.org/x/oauth2", "server/accounts/openid/openidtest", "github.com/go-jose/go-jose/v4"},

	"server/accounts/openid/openidtest": {},

	"server": {"dynamo", "dynamo/resilient", "table", "fold", "analytics", "server/accounts", "server/accounts/passkey", "server/accounts/openid", "internal/...", "server/internal/...", "server/webanalytics", "server/devices", "server/fleetquery", "server/events", "server/capacity", "server/load", "server/mcpserver", "server/dashboard", "analytics/segments", "server/apidocs", "telemetry",
		"github.com/danielgtaylor/huma/v2/...", "github.com/prometheus/client_golang/...",
		"server/mqtt", "telemetry/credentials", "analytics/alerts", "analytics/digest", "analytics/notify", "server/webanalytics/notices", "table/delivery"}, // its tests
	"server/load":                {"server/internal/middleware", "github.com/prometheus/client_golang/...", "golang.org/x/sync/..."},
	"server/internal/middleware": {"dynamo", "table", "server/accounts", "server/jobs", "server/internal/download", "github.com/danielgtaylor/huma/v2/...", "github.com/prometheus/client_golang/...", "golang.org/x/time/rate"},
	"server/webanalytics/notices": {"table", "table/delivery", "analytics", "analytics/alerts", "analytics/digest", "analytics/notify", "server/accounts", "server/internal/...", "github.com/danielgtaylor/huma/v2",
		"internal/calendar"},
	"server/webanalytics/query":     {"analytics", "analytics/contribution", "analytics/explore", "analytics/report", "internal/calendar", "internal/decimal", "github.com/danielgtaylor/huma/v2"},
	"server/webanalytics/filters":   {"table", "analytics", "analytics/explore", "analytics/segments", "server/accounts", "server/internal/...", "github.com/danielgtaylor/huma/v2"},
	"server/webanalytics/eventform": {"github.com/go-json-experiment/json"},
	"server/webanalytics/installed": {"analytics", "analytics/installation", "table", "server/internal/...", "github.com/danielgtaylor/huma/v2"},
	"server/webanalytics": {"server/webanalytics/eventform", "server/webanalytics/installed", "server/webanalytics/filters", "server/webanalytics/query", "server/webanalytics/notices", "github.com/go-json-experiment/json", "table", "fold", "analytics", "analytics/annotations", "analytics/installation", "analytics/erasure", "analytics/explore", "analytics/goals", "analytics/imported", "analytics/imported/exports", "analytics/reconcile", "analytics/filtered", "analytics/report", "server/accounts", "internal/...",
		"server/internal/...", "server/jobs", "server/tracker", "github.com/danielgtaylor/huma/v2/...", "github.com/prometheus/client_golang/...", "golang.org/x/sync/..."},
	"server/servertest": {"vocabulary", "dynamo", "table", "fold", "fold/streamsource", "analytics", "analytics/alerts", "analytics/digest", "analytics/erasure", "analytics/notify", "server/accounts", "engine", "eventstore", "eventstore/shred", "server", "server/dashboard", "server/jobs", "server/webanalytics", "telemetry", "telemetry/alerts", "blueprint/heat", "engine/enginetest",
		"internal/traffic", "internal/useragent", "github.com/oklog/ulid/v2"},

	"server/jobs":    {"table", "server/internal/background", "engine/enginetest"},
	"server/tracker": {"server/internal/webfile"},
	"server/dashboard": {"server/internal/webfile",
		"analytics"}, // its tests: the dimensions
	"server/internal":             {},
	"server/internal/channelform": {"table/delivery", "github.com/danielgtaylor/huma/v2"},
	"server/internal/qr":          {"github.com/boombuler/barcode/qr"},
	"server/devices": {"table", "table/delivery", "telemetry", "telemetry/payload", "telemetry/alerts", "telemetry/credentials", "telemetry/recount", "server/accounts", "internal/calendar", "internal/lineprotocol", "server/jobs", "server/mqtt", "server/internal/...", "github.com/danielgtaylor/huma/v2/...",
		"github.com/prometheus/client_golang/...",
		"telemetry/presence", "telemetry/maintenance"}, // its tests
	"server/fleetquery/fleetparquet": {"telemetry/query", "github.com/parquet-go/parquet-go"},
	"server/fleetquery": {"table", "telemetry", "telemetry/promql", "telemetry/query", "server/internal/...", "github.com/danielgtaylor/huma/v2/...", "server/fleetquery/fleetparquet", "github.com/parquet-go/parquet-go",
		"server/accounts"}, // its tests
	"server/events": {"table", "eventstore", "eventstore/eventjson", "eventstore/projection", "eventstore/subscription", "eventstore/eventschema", "eventstore/shred", "server/accounts", "server/internal/...", "server/jobs", "github.com/danielgtaylor/huma/v2/...", "github.com/prometheus/client_golang/...", "golang.org/x/sync/singleflight",
		"engine/enginetest", "internal/seeds"}, // its tests
	"server/capacity": {"table", "analytics", "blueprint", "blueprint/heat", "internal/redact", "server/internal/...", "github.com/danielgtaylor/huma/v2/...",
		"server/accounts"}, // its tests
	"server/mcpserver": {"server/internal/middleware", "server/webanalytics/query", "github.com/danielgtaylor/huma/v2", "github.com/modelcontextprotocol/go-sdk/mcp",
		"analytics", "analytics/alerts", "analytics/digest", "analytics/segments", "eventstore", "server/accounts", "telemetry"}, // its tests
	"server/mqtt":    {"github.com/mochi-mqtt/server/v2/..."},
	"server/apidocs": {"github.com/danielgtaylor/huma/v2"},

	"internal/accesslog": {"github.com/klauspost/compress/..."},
	"internal/eventcsv":  {"internal/accesslog"},
	"internal/useragent": {"github.com/hashicorp/golang-lru/v2/..."},
	"internal/block": {"internal/varint", "github.com/klauspost/compress/zstd", "github.com/oklog/ulid/v2",
		"internal/referral", "internal/traffic", "internal/useragent"}, // its tests: facts as they are
	"internal/calendar":    {},
	"internal/known":       {},
	"internal/devicesim":   {},
	"internal/redact":      {},
	"internal/decimal":     {"github.com/cockroachdb/apd/v3"},
	"internal/recorded":    {},
	"internal/referral":    {},
	"internal/seeds":       {},
	"internal/sketch":      {"vocabulary"},
	"internal/tail":        {"internal/backoff"},
	"internal/traffic":     {},
	"internal/varint":      {},
	"internal/groupcommit": {"github.com/cespare/xxhash/v2"},
	"internal/backoff":     {},
	"internal/webhook":     {},
	"internal/spool":       {"internal/groupcommit", "internal/backoff"},
	"internal/geo":         {"github.com/oschwald/maxminddb-golang/v2", "internal/geo/..."},
	"internal/blocklist":   {"github.com/gaissmai/bart", "golang.org/x/net/idna"},
	"internal/exchange":    {"github.com/cockroachdb/apd/v3", "golang.org/x/text/currency"},
	"internal/exclude":     {"internal/glob"},
	"internal/glob":        {},
	"internal/mask":        {},

	"internal/lineprotocol": {"github.com/influxdata/line-protocol/v2/lineprotocol"},

	"warehouse/duck": {"github.com/duckdb/duckdb-go/v2", "golang.org/x/sync/errgroup", "analytics", "eventstore", "warehouse",
		"internal/calendar", "internal/traffic"}, // its tests: what it reads
	"warehouse/past": {"analytics", "analytics/explore", "warehouse", "github.com/hashicorp/golang-lru/v2", "github.com/parquet-go/parquet-go",
		"internal/calendar"}, // its tests

	"examples/crawlers": {"server/accounts", "server/servertest"}, // its tests: a server that counts
	"examples/internal": {},
	"examples/ledger":   {"dynamo", "table", "fold"},
	"examples/lending":  {"eventstore", "eventstore/embedded", "eventstore/projection", "eventstore/registry"},
	"examples/library": {"eventstore", "eventstore/embedded", "eventstore/process", "eventstore/projection", "eventstore/projection/sqlprojection", "eventstore/registry",
		"eventstore/shred", "eventstore/subscription", "modernc.org/sqlite"},
	"examples/ledger/cmd": {"vocabulary", "dynamo", "table", "fold", "fold/streamsource", "engine", "examples/..."},
	"examples/orders":     {"table"},
	"examples/orders/cmd": {"table", "engine", "examples/..."},
	"examples/readmodels": {"eventstore", "eventstore/embedded", "eventstore/projection/sqlprojection", "eventstore/registry", "modernc.org/sqlite"},
	"examples/rooms":      {"table", "engine", "blueprint", "blueprint/cost"},
	"examples/sessions":   {"analytics", "table", "engine"},
	"examples/social":     {"table"},
	"examples/social/cmd": {"table", "engine", "examples/..."},

	"cmd": {"..."},
	"cmd/onefold/internal/backups": {"cmd/internal/s3store", "cmd/onefold/internal/wholebackup", "engine", "warehouse", "internal/backoff",
		"filippo.io/age", "github.com/klauspost/compress/zstd", "github.com/prometheus/client_golang/prometheus",
		"github.com/johannesboyne/gofakes3/..."}, // its tests
}

// forTests may be imported by any _test.go file, beside what its package may import.
var forTests = []string{"internal/seeds", "analytics/report", "server", "server/servertest", "engine", "engine/enginetest", "dynamo/dynamohttp", "dynamo", "dynamo/dynamotest", "table", "fold/...", "vocabulary", "analytics/reconcile", "eventstore/eventstoretest", "eventstore/fsck",
	"github.com/aws/aws-sdk-go-v2/...", "github.com/cockroachdb/datadriven", "github.com/rogpeppe/go-internal/...",
	"internal/recorded", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/anishathalye/porcupine", "github.com/cockroachdb/pebble/v2/vfs", "github.com/oklog/ulid/v2",
	"github.com/cockroachdb/apd/v3", "github.com/cespare/xxhash/v2", "github.com/klauspost/compress/...",
	"github.com/eclipse/paho.golang/...", "github.com/eclipse/paho.mqtt.golang", "github.com/pquerna/otp/totp", "server/accounts/passkey/passkeytest", "server/accounts/openid/openidtest"}

// vocabulary is DynamoDB's API in the SDK's types. Clients are made in cmd and in tests only, see TestClientsAreMadeInCmd.
var vocabulary = []string{
	"github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/smithy-go/...",
	"github.com/aws/aws-sdk-go-v2/service/dynamodb", "github.com/aws/aws-sdk-go-v2/service/dynamodb/types",
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams", "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types",
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue", "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression",
}

// Lengths, in lines of code, that ask "is there a name for the part that should come out?".
const (
	maxFunctionLines = 45
	maxFileLines     = 500
	maxPackageLines  = 4200
)

// whole lists what is longer than the house numbers and better in one piece, each with its reason.
var whole = map[string]string{
	"analytics/explore": "every question reads the columns of a day, whose layout nothing else may know",
	"eventstore":        "appends, reads, truncations and folds share the form of heads and pages, which nothing else may write",
	"fold":              "its proof is about one worker: what is read, decided, written and advanced shares one lock and one order",
}

func TestImportPolicy(t *testing.T) {
	for _, f := range goFiles(t) {
		allowed := allowedImports(f.dir)
		if f.test {
			allowed = append(slices.Clone(allowed), forTests...)
			allowed = append(allowed, f.dir)
		}
		for _, imp := range f.syntax.Imports {
			name, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if standard(name) || f.dir == "." || permitted(allowed, strings.TrimPrefix(name, module+"/")) {
				continue
			}
			t.Errorf("%s imports %s, which the policy does not list for %q.\n\tMove the code to where the import belongs, or change the policy in repo_test.go and ARCHITECTURE.md together.", f.path, name, f.dir)
		}
	}
}

func allowedImports(dir string) []string {
	for d := dir; d != "."; d = path.Dir(d) {
		if allowed, ok := policy[d]; ok {
			return allowed
		}
	}
	return nil
}

func permitted(allowed []string, name string) bool {
	for _, a := range allowed {
		switch prefix, tree := strings.CutSuffix(a, "..."); {
		case a == "vocabulary" && permitted(vocabulary, name):
			return true
		case tree && (strings.HasPrefix(name+"/", prefix) || prefix == ""):
			return true
		case a == name:
			return true
		}
	}
	return false
}

func standard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".")
}

// notShipped are packages for benchmarks and tests.
var notShipped = regexp.MustCompile(`^cmd/onefold-bench\b|test$|^cmd/internal/lambdasim$|^fold/foldsim$|^engine/internal/oracle$`)

func TestReleasesHaveNoTestCode(t *testing.T) {
	imports := map[string][]string{} // of packages of the project, without those of tests
	for _, f := range goFiles(t) {
		for _, imp := range f.syntax.Imports {
			if name, ok := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module+"/"); ok && !f.test {
				imports[f.dir] = append(imports[f.dir], name)
			}
		}
	}
	seen := map[string]bool{}
	var visit func(dir, from string)
	visit = func(dir, from string) {
		if notShipped.MatchString(dir) {
			t.Errorf("%s imports %s, so releases would contain it. It is for benchmarks and tests: move what both need to a package of its own.", from, dir)
			return
		}
		if seen[dir] {
			return
		}
		seen[dir] = true
		for _, next := range imports[dir] {
			visit(next, dir)
		}
	}
	visit("cmd/onefold", "")
	visit("cmd/onefold-lambda", "")
	if len(seen) < 50 {
		t.Errorf("only %d packages were found", len(seen))
	}
}

func TestClientsAreMadeInCmd(t *testing.T) {
	client := regexp.MustCompile(`\b(dynamodb|dynamodbstreams)\.New(FromConfig)?\(|aws-sdk-go-v2/config"`)
	for _, f := range goFiles(t) {
		if f.test || strings.HasPrefix(f.dir, "cmd") || strings.HasSuffix(f.dir, "test") {
			continue
		}
		if client.Match(f.text) {
			t.Errorf("%s makes an AWS client. Take a dynamo.API instead; clients are made in cmd.", f.path)
		}
	}
}

func TestOnePackageComment(t *testing.T) {
	comments := map[string][]string{}
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		if _, ok := comments[f.dir]; !ok {
			comments[f.dir] = nil
		}
		if f.syntax.Doc != nil {
			comments[f.dir] = append(comments[f.dir], f.path)
		}
	}
	for dir, files := range comments {
		if len(files) != 1 {
			t.Errorf("%s has %d package comments %v. Write exactly one: what the package is for and how its parts work together.", dir, len(files), files)
		}
	}
}

// Lengths are lines of code: explaining a thing well must not make it too long.
func TestLengths(t *testing.T) {
	packages := map[string]int{}
	for _, f := range goFiles(t) {
		if f.test || strings.HasSuffix(f.dir, "test") { // a table of cases is as long as it is
			continue
		}
		code := codeLines(&f)
		packages[f.dir] += len(code)
		tooLong(t, f.path, len(code), maxFileLines)
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := f.set.Position(fn.Pos()).Line, f.set.Position(fn.End()).Line
			lines := 0
			for line := range code {
				if line >= first && line <= last {
					lines++
				}
			}
			tooLong(t, f.path+":"+fn.Name.Name, lines, maxFunctionLines)
		}
	}
	for dir, lines := range packages {
		tooLong(t, dir, lines, maxPackageLines)
	}
}

// codeLines returns the numbers of the lines of f that hold more than comments and space.
func codeLines(f *goFile) map[int]bool {
	lines := map[int]bool{}
	set := token.NewFileSet()
	file := set.AddFile(f.path, -1, len(f.text))
	var s scanner.Scanner
	s.Init(file, f.text, nil, 0)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.SEMICOLON && literal != ";" { // inserted at the end of a line
			continue
		}
		first := file.Line(pos)
		for i := range 1 + strings.Count(literal, "\n") {
			lines[first+i] = true
		}
	}
}

func tooLong(t *testing.T, name string, lines, limit int) {
	t.Helper()
	if lines > limit && whole[name] == "" {
		t.Errorf("%s has %d lines of code, the house number is %d. Is there a name for the part that should come out? If it is better whole, say why in `whole`.", name, lines, limit)
	}
}

// Two pages that were begun at the same time may take the same number: the later one takes the next.
func TestDecisionsAreNumbered(t *testing.T) {
	pages, err := filepath.Glob("docs/decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, page := range pages {
		number := filepath.Base(page)[:4]
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%04d", i+1); number != want || !strings.HasPrefix(string(text), "# "+want+":") {
			t.Errorf("%s should be number %s, in its name and in its title", page, want)
		}
	}
}

func TestNoLeftovers(t *testing.T) {
	marks := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b|not im` + `plemented`)
	silentSkip := regexp.MustCompile(`\.Skip(Now)?\(\)`)
	for _, f := range goFiles(t) {
		if m := marks.Find(f.text); m != nil {
			t.Errorf("%s says %q. Finish it, or write an issue and take the mark out.", f.path, m)
		}
		if silentSkip.Match(f.text) {
			t.Errorf("%s skips without a word. Say what is missing and how to get it.", f.path)
		}
		formatted, err := format.Source(f.text)
		if err != nil || string(formatted) != string(f.text) {
			t.Errorf("%s is not gofmt-ed. Run `gofmt -w %s`.", f.path, f.path)
		}
	}
}

func TestPackageNamesSayTheirJob(t *testing.T) {
	for _, f := range goFiles(t) {
		switch name := strings.TrimSuffix(f.syntax.Name.Name, "_test"); name {
		case "util", "utils", "common", "helpers", "misc", "base", "shared":
			t.Errorf("%s is in package %s. Name a package by the job it does.", f.path, name)
		}
	}
}

// goFile is one parsed source file of the repository.
type goFile struct {
	path, dir string // from the root, slashes
	test      bool
	text      []byte
	set       *token.FileSet
	syntax    *ast.File
}

func goFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	err := filepath.WalkDir(".", func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == "bin" || (strings.HasPrefix(d.Name(), ".") && p != ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, p, text, parser.ParseComments)
		if err != nil {
			return err
		}
		p = filepath.ToSlash(p)
		files = append(files, goFile{path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), text: text, set: set, syntax: syntax})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// maxRootFolders is how many folders a reader can take in at a glance.
const maxRootFolders = 15

// TestRootFolders checks that the root stays readable. What `make` builds, and a table that somebody
// keeps here, are not counted.
func TestRootFolders(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains([]string{"bin", "dist", "onefold-data"}, e.Name()) {
			folders = append(folders, e.Name())
		}
	}
	if len(folders) > maxRootFolders {
		t.Errorf("the root has %d folders, the house number is %d: %s. Put the new one into the folder whose idea it belongs to.", len(folders), maxRootFolders, strings.Join(folders, " "))
	}
}

// TestWhereToLook checks that the paths in the table of ARCHITECTURE.md exist, so that a moved file is
// still found.
func TestWhereToLook(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Where to look\n")
	section, _, _ = strings.Cut(section, "\n## ")
	found := 0
	for row := range strings.Lines(section) {
		cells := strings.Split(row, "|")
		if len(cells) != 4 {
			continue
		}
		for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[2], -1) {
			found++
			if _, err := os.Stat(filepath.FromSlash(code[1])); err != nil {
				t.Errorf("ARCHITECTURE.md sends readers who want to change %s to %s, which does not exist: name its new place.", strings.TrimSpace(cells[1]), code[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d paths were found", found)
	}
}
