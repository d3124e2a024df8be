package blueprint

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/table"
)

// newRow makes the n-th example of an entity. Values that keys of other entities refer to, such as
// the site or device, are the same in all rows. The last variable of the key distinguishes the
// rows.
func newRow(s *table.Schema, info *table.EntityInfo, now time.Time, n int) (Row, error) {
	x, err := s.ExampleRow(info.Name)
	if err != nil {
		return Row{}, err
	}
	vary := lastVariable(info.SK)
	if vary == "" {
		vary = lastVariable(info.PK)
	}
	key := make(map[string]bool)
	for _, k := range info.Key {
		key[k.Name] = true
	}
	m := maker{entity: info.Name, now: now}
	x.Each(func(name string, optional bool, v reflect.Value) {
		if optional && !named(info, name) && seldom(name, v) {
			return
		}
		at := n
		if key[name] && name != vary {
			at = 0
		}
		m.fill(name, at, v, key[name])
	})
	x.Complete()
	it, err := x.Item()
	return Row{Entity: info.Name, Item: it, Bytes: table.ItemSize(it), example: x}, err
}

// named reports whether an index key contains the attribute. Without a value, the row would not be
// in the index.
func named(info *table.EntityInfo, name string) bool {
	for _, x := range info.Indexes {
		if strings.Contains(x.PK+x.SK, "{"+name+"}") || strings.Contains(x.PK+x.SK, "{"+name+":") {
			return true
		}
	}
	return false
}

// seldom reports whether an optional attribute is for an event that usually has not happened, such
// as an end or a deletion.
func seldom(name string, v reflect.Value) bool {
	_, isTime := v.Interface().(time.Time)
	return isTime || v.Kind() == reflect.Bool || strings.HasSuffix(name, "ed")
}

// lastVariable returns the name of a template's last variable except shard numbers, or "".
func lastVariable(template string) string {
	last := ""
	for rest := template; ; {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			return last
		}
		var name string
		name, rest, _ = strings.Cut(after, "}")
		if name, _, _ = strings.Cut(name, ":"); name != "shard" {
			last = name
		}
	}
}

// maker makes plausible values for names.
type maker struct {
	entity string
	now    time.Time
}

var bytesType = reflect.TypeFor[[]byte]()

var marshaler = reflect.TypeFor[attributevalue.Marshaler]()

func (m *maker) fill(name string, n int, v reflect.Value, key bool) {
	switch at, isTime := v.Interface().(time.Time); {
	case isTime && at.IsZero():
		v.Set(reflect.ValueOf(m.time(name, n)))
	case v.CanAddr() && v.Addr().Type().Implements(marshaler):
	case v.Kind() == reflect.String:
		v.SetString(m.text(name, n, key))
	case v.Type() == bytesType:
		v.SetBytes(binary.BigEndian.AppendUint64(nil, m.seed(name, n)))
	case v.CanInt() && key:
		v.SetInt(m.place(name, n))
	case v.CanInt():
		v.SetInt(m.number(name, n))
	case v.CanUint():
		v.SetUint(uint64(m.number(name, n)))
	case v.CanFloat():
		v.SetFloat(float64(m.number(name, n)) / 4)
	}
}

func (m *maker) time(name string, n int) time.Time {
	switch strings.ToLower(name) {
	case "day":
		return m.now.Truncate(24*time.Hour).AddDate(0, 0, -n)
	case "month":
		return time.Date(m.now.Year(), m.now.Month()-time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	case "start", "hour":
		return m.now.Truncate(time.Hour).Add(-time.Duration(n) * time.Hour)
	case "minute":
		return m.now.Truncate(time.Minute).Add(-time.Duration(n) * time.Minute)
	case "ttl", "until", "expires", "expiresat":
		return m.now.AddDate(0, 0, 30)
	}
	return m.now.Add(-time.Duration(n) * 7 * time.Minute)
}

// texts are example values by attribute name. Rows use them in turn.
var texts = map[string][]string{
	"action": {"site.create", "key.revoke"}, "actor": {"ada"}, "author": {"ada", "grace"}, "browser": {"Firefox", "Chrome"}, "by": {"ada"},
	"category": {"garden", "kitchen"}, "channel": {"organic search", "direct"}, "city": {"Utrecht", "Lyon"}, "clear": {"75", "12"},
	"connectivity": {"online", "offline"}, "counting": {"visits"}, "country": {"NL", "FR"}, "creator": {"ada"}, "currency": {"EUR"},
	"customerId": {"42", "43"}, "day": {"2026-05-12", "2026-05-11"}, "device": {"desktop", "phone"}, "deviceId": {"pump-1", "pump-2"},
	"dimension": {"page"}, "disc": {"000001", "000002"}, "email": {"ada@example.com", "grace@example.com"}, "entry": {"/", "/pricing"},
	"event": {"signup", "order"}, "eventType": {"OrderPlaced", "OrderPaid"}, "exit": {"/pricing", "/docs"}, "firmware": {"2.4.1", "2.4.0"},
	"followee": {"bob", "carol"}, "follower": {"alice", "bob"}, "productId": {"rake", "kettle"},
	"fleet": {"north", "south"}, "fleetId": {"north", "south"}, "fold": {"sessions"}, "format": {"goatcounter"}, "from": {"2026-04-01", "2026-03-01"},
	"group": {"onefold"}, "host": {"example.com"}, "hostname": {"example.com"}, "itempk": {"ORDER#1001"}, "itemsk": {"ORDER#1001"}, "kind": {"gauge"},
	"lang": {"nl", "fr"}, "location": {"hall 3", "roof"}, "message": {"above 80 for 15 minutes"}, "metric": {"temperature", "humidity"},
	"minute": {"2026-05-12T14:00", "2026-05-12T13:53"}, "month": {"2026-05", "2026-04"}, "name": {"Ada", "Grace"}, "orderId": {"1001", "1002"},
	"os": {"Linux", "iOS"}, "owner": {"ada", "grace"}, "ownerId": {"ada", "grace"}, "part": {"0"}, "path": {"/pricing", "/docs"}, "pathKind": {"exact"},
	"peak": {"106.2", "8"}, "period": {"hour"}, "pos": {"100000000000000000042"}, "profileId": {"pump", "meter"}, "raise": {"80", "10"},
	"reason": {"calibration", "test"}, "ref": {"search.example", "news.example"}, "referrer": {"search.example", "news.example"},
	"region": {"Utrecht", "Rhône"}, "revenue": {"49.00", "12.50"}, "role": {"viewer", "editor"}, "ruleId": {"too-hot", "silent"}, "scope": {"email"},
	"screen": {"1920x1080", "390x844"}, "seq": {"100000000000000000042", "100000000000000000043"}, "severity": {"critical", "warning"},
	"shard": {"shardId-00000001"}, "since": {"2026-05-12", "2026-05-11"}, "site": {"blog", "shop"}, "siteId": {"blog", "shop"},
	"source": {"search", "news"}, "start": {"2026-05-12T14:00:00Z", "2026-05-12T13:00:00Z"}, "state": {"done", "running"},
	"status": {"active", "inactive"}, "subject": {"u-42"}, "tenant": {"acme"}, "timeZone": {"Europe/Amsterdam"}, "to": {"2026-05-01", "2026-04-01"},
	"type": {"order", "invoice"}, "until": {"2026-05-12", "2026-05-11"}, "user": {"u-42", "u-43"}, "userId": {"u-42", "u-43"}, "utmC": {"spring"},
	"utmM": {"email"}, "utmN": {"header"}, "utmS": {"newsletter"}, "utmT": {"pumps"}, "value": {"green", "blue"}, "verb": {"purge"},
	"zone": {"Europe/Amsterdam"},
}

func (m *maker) text(name string, n int, key bool) string {
	if known := texts[name]; known != nil {
		if key && n >= maxRows { // a key that does not exist yet
			return fmt.Sprintf("%s-%d", known[n%len(known)], n+1)
		}
		return known[n%len(known)]
	}
	lower := strings.ToLower(name)
	switch {
	case lower == "id" || strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "ID"):
		return m.ulid(name, n)
	case strings.HasSuffix(lower, "hash"), strings.HasSuffix(lower, "token"), lower == "password", lower == "visitor", lower == "session":
		return fmt.Sprintf("%016x", m.seed(name, n))
	}
	return fmt.Sprintf("%s-%d", strings.ToLower(name), n+1)
}

// ulid returns an ID with the example's time. The same name and number result in the same ID in
// every entity.
func (m *maker) ulid(name string, n int) string {
	var id ulid.ULID
	if err := id.SetTime(ulid.Timestamp(m.now.Add(-time.Duration(n) * 7 * time.Minute))); err != nil {
		return name
	}
	var entropy [16]byte
	binary.BigEndian.PutUint64(entropy[:], m.seed(name, n))
	binary.BigEndian.PutUint64(entropy[8:], m.seed("more "+name, n))
	if err := id.SetEntropy(entropy[:10]); err != nil {
		return name
	}
	return id.String()
}

// place returns a number for a key: a shard, or a number counted from 1.
func (m *maker) place(name string, n int) int64 {
	if name == "shard" || name == "part" {
		return 0
	}
	return int64(n + 1)
}

func (m *maker) number(name string, n int) int64 {
	switch strings.ToLower(name) {
	case "shard", "part":
		return 0
	case "vshard":
		return 0
	case "seqnum", "seq", "version", "currentseqnum", "first":
		return int64(n + 1)
	case "schema", "reducer", "of", "n":
		return 1
	case "nth":
		return 0
	case "start", "end", "since", "last", "at", "until", "changed", "latest", "fired", "seen":
		return m.now.Add(-time.Duration(n) * 7 * time.Minute).UnixMilli()
	}
	return 1 + int64(m.seed(name, n)%100)
}

// seed returns a number that depends only on the name and row, and never changes.
func (m *maker) seed(name string, n int) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d", name, n) // a hash does not fail
	return rand.New(rand.NewPCG(h.Sum64(), 1)).Uint64()
}
