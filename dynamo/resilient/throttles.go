package resilient

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/redact"
)

// Limit is the limit that a throttled request exceeded.
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html
type Limit string

// The limits.
const (
	KeyRange    Limit = "key_range"   // of a single partition: a key is hot
	Provisioned Limit = "provisioned" // provisioned capacity of the table or index
	OnDemand    Limit = "on_demand"   // maximum set for an on-demand table or index
	Account     Limit = "account"     // of the account in this Region
	Unknown     Limit = "unknown"     // not reported
)

// Throttle is a reason for which the store throttled a request.
type Throttle struct {
	Resource string // table, or table/index; "" if not reported
	Write    bool
	Limit    Limit
}

// reasonsOf returns the distinct reasons in an error, at least one.
func reasonsOf(op string, err error) (reasons []Throttle) {
	for _, r := range sdkReasons(err) {
		t := Throttle{Resource: resourceOf(deref(r.Resource)), Limit: limitOf(deref(r.Reason)), Write: strings.Contains(deref(r.Reason), "Write")}
		if !slices.Contains(reasons, t) {
			reasons = append(reasons, t)
		}
	}
	if reasons == nil {
		reasons = []Throttle{{Write: writes(op), Limit: Unknown}}
	}
	return reasons
}

func sdkReasons(err error) []types.ThrottlingReason {
	var provisioned *types.ProvisionedThroughputExceededException
	var throttling *types.ThrottlingException
	var request *types.RequestLimitExceeded
	switch {
	case errors.As(err, &provisioned):
		return provisioned.ThrottlingReasons
	case errors.As(err, &throttling):
		return throttling.ThrottlingReasons
	case errors.As(err, &request):
		return request.ThrottlingReasons
	}
	return nil
}

// limitOf parses a reason such as TableWriteKeyRangeThroughputExceeded.
func limitOf(reason string) Limit {
	for _, l := range []struct {
		end   string
		limit Limit
	}{
		{"KeyRangeThroughputExceeded", KeyRange}, {"MaxOnDemandThroughputExceeded", OnDemand},
		{"ProvisionedThroughputExceeded", Provisioned}, {"AccountLimitExceeded", Account},
	} {
		if strings.HasSuffix(reason, l.end) {
			return l.limit
		}
	}
	return Unknown
}

// resourceOf returns the table or table/index in an ARN such as
// arn:aws:dynamodb:eu-west-1:123456789012:table/onefold/index/gsi1.
func resourceOf(arn string) string {
	_, name, found := strings.Cut(arn, ":table/")
	if !found {
		return ""
	}
	return strings.Replace(name, "/index/", "/", 1)
}

func writes(op string) bool {
	switch op {
	case "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems":
		return true
	}
	return false
}

const (
	maxHotKeys = 1000             // maximum number of keys tracked
	hotFor     = time.Minute      // how long a key counts as hot
	logEvery   = 10 * time.Second // minimum interval between log messages
)

// throttles counts the reasons of throttling and tracks hot keys.
type throttles struct {
	clock  func() time.Time
	logger *slog.Logger
	keys   *redact.Keys

	mu     sync.Mutex
	counts map[Throttle]int64
	hot    map[hotKey]*heat
	told   time.Time
	since  int64 // throttled requests since the last log message
}

// hotKey is a partition key in displayable form, and where it is hot.
type hotKey struct{ key, resource string }

type heat struct {
	times int64
	last  time.Time
}

func newThrottles(o *Options) *throttles {
	return &throttles{clock: o.Clock, logger: o.Logger, keys: redact.New(o.Show), counts: map[Throttle]int64{}, hot: map[hotKey]*heat{}}
}

// note counts a throttled request, and logs it unless another was logged recently.
func (t *throttles) note(r request, err error) {
	reasons, keys := reasonsOf(r.op, err), keysToBlame(r, err)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	t.since++
	for _, reason := range reasons {
		if _, known := t.counts[reason]; known || len(t.counts) < maxHotKeys {
			t.counts[reason]++
		}
		if reason.Limit == KeyRange || reason.Limit == Unknown {
			for _, key := range keys {
				t.heat(hotKey{t.keys.Name(key), reason.Resource}, now)
			}
		}
	}
	if now.Sub(t.told) < logEvery {
		return
	}
	about := []any{"operation", r.op, "limit", reasons[0].Limit, "resource", reasons[0].Resource, "times", t.since}
	if k, h := t.hottest(now); h != nil {
		about = append(about, "hot_key", k.key, "of_it", h.times)
	}
	t.logger.Warn("store: throttled", about...)
	t.told, t.since = now, 0
}

// keysToBlame returns the partition keys that were throttled: all keys in a request, or those of
// the throttled actions of a transaction.
func keysToBlame(r request, err error) []string {
	if r.keys == nil {
		return nil
	}
	keys := r.keys()
	reasons, ok := dynamo.CancellationReasons(err)
	if !ok || len(reasons) != len(keys) {
		slices.Sort(keys)
		return slices.Compact(keys)
	}
	var blamed []string
	for i := range reasons {
		if isRateCode(deref(reasons[i].Code)) && !slices.Contains(blamed, keys[i]) {
			blamed = append(blamed, keys[i])
		}
	}
	return blamed
}

func (t *throttles) heat(k hotKey, now time.Time) {
	if k.key == "" {
		return
	}
	h := t.hot[k]
	if h == nil {
		if len(t.hot) >= maxHotKeys {
			t.cool(now)
		}
		if len(t.hot) >= maxHotKeys {
			return // enough hot keys are tracked
		}
		h = &heat{}
		t.hot[k] = h
	}
	if now.Sub(h.last) > hotFor {
		h.times = 0
	}
	h.times++
	h.last = now
}

// cool drops keys that are no longer hot.
func (t *throttles) cool(now time.Time) {
	for k, h := range t.hot {
		if now.Sub(h.last) > hotFor {
			delete(t.hot, k)
		}
	}
}

func (t *throttles) hottest(now time.Time) (at hotKey, most *heat) {
	t.cool(now)
	for k, h := range t.hot {
		if most == nil || h.times > most.times || h.times == most.times && k.key < at.key {
			at, most = k, h
		}
	}
	return at, most
}

// counted returns the counts by reason, and the number of hot keys.
func (t *throttles) counted() (map[Throttle]int64, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cool(t.clock())
	all := make(map[Throttle]int64, len(t.counts))
	for k, n := range t.counts {
		all[k] = n
	}
	return all, int64(len(t.hot))
}
