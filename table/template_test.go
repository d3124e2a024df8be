package table

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/table/internal/codec"
)

// sideBySide has the keys that one table must hold side by side: the table's pk and sk, and the pk
// and sk on the index gsi1.
var sideBySide = [][4]string{
	{"SITE#{siteId}", "METADATA", "OWNER#{ownerId}", "SITE#{siteId}"},
	{"SITE#{siteId}#SHARD#{shard}", "EVENT#{eventId}"},
	{"SITE#{siteId}#SHARD#{shard}", "VISITOR#{visitorId}#{day}"},
	{"SITE#{siteId}", "SESSION#{sessionId}", "USER#{userId}", "SESSION#{sessionId}"},
	{"SITE#{siteId}", "GOAL#{goalId}"},
	{"SITE#{siteId}", "STATS#{period}#{start}"},
	{"SITE#{siteId}", "BREAKDOWN#{period}#{dimension}#{start}"},
	{"SITE#{siteId}", "REALTIME#{minute}"},
	{"SITE#{siteId}", "SALT#{day}"},
	{"DEVICE#{deviceId}", "#METADATA", "DEVICE_STATUS#{status}#{shard}", "DEVICE#{deviceId}"},
	{"DEVICE#{deviceId}", "READING#{at:ms}#{disc}"},
	{"DEVICE#{deviceId}", "ALERT#{alertId}", "ALERT_SEVERITY#{severity}", "ALERT#{alertId}"},
	{"DEVICE#{deviceId}", "RULE#{ruleId}"},
	{"PROFILE#{profileId}", "RULE#{ruleId}"},
	{"DEVICE#{deviceId}", "AGG#{period}#{start}"},
	{"DEVICE#{deviceId}", "#STATUS", "FLEET#{connectivity}#{shard}", "DEVICE#{deviceId}"},
	{"AGGREGATE#{type}#{id}", "#METADATA", "AGGREGATE_TYPE#{type}#{shard}", "AGGREGATE#{id}"},
	{"AGGREGATE#{type}#{id}", "EVENT#{seq:012}", "EVENT_TYPE#{eventType}[#{shard}]", "EVENT#{eventId}"},
	{"AGGREGATE#{type}#{id}", "#SNAPSHOT"},
	{"PROJECTION#{name}#{version}", "CHECKPOINT#{part}"},
	{"FOLD#{name}", "CHECKPOINT#{streamShard}#{group}"},
	{"FOLD#{name}", "LEASE#{streamShard}"},
	{"FOLD#{name}", "DEAD#{sequence}"},
}

func mustParse(t *testing.T, src string) *keyTemplate {
	t.Helper()
	parsed, err := parseTemplate(src)
	if err != nil {
		t.Fatal(err)
	}
	return &keyTemplate{template: parsed}
}

func TestKeysSideBySide(t *testing.T) {
	var s Schema
	for _, keys := range sideBySide {
		e := &entity{name: keys[0] + " " + keys[1], pk: mustParse(t, keys[0]), sk: mustParse(t, keys[1])}
		if keys[2] != "" {
			e.indexes = []entityIndex{{name: "gsi1", pk: mustParse(t, keys[2]), sk: mustParse(t, keys[3])}}
		}
		s.entities = append(s.entities, e)
	}
	for _, err := range s.checkCollisions() {
		t.Error(err)
	}
}

type everyKey struct {
	Text  string    `dynamodbav:"text"`
	Kind  named     `dynamodbav:"kind"`
	Seq   uint32    `dynamodbav:"seq"`
	Shard int       `dynamodbav:"shard"`
	At    time.Time `dynamodbav:"at"`
	Day   time.Time `dynamodbav:"day"`
}

type named string

type everyItem struct{ everyKey }

var every = Define[everyItem, everyKey]("every", Def[everyItem]{
	PK: "TEXT#{text}#{kind}x#SHARD[#{shard}]", SK: "{at:ms}#D{day:day}#{seq:010}",
})

func drawKey(t *rapid.T) everyKey {
	return everyKey{
		Text:  rapid.StringMatching(`[^#]{1,40}`).Draw(t, "text"),
		Kind:  named(rapid.StringMatching(`[a-zäx]{1,8}`).Draw(t, "kind")),
		Seq:   rapid.Uint32().Draw(t, "seq"),
		Shard: rapid.IntRange(-1, 300).Draw(t, "shard"),
		At:    time.UnixMilli(rapid.Int64Range(-62167219200000, 253402300799999).Draw(t, "at")).UTC(),
		Day:   time.Unix(86400*rapid.Int64Range(-1e5, 1e6).Draw(t, "day"), 0).UTC(),
	}
}

func TestKeysReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := everyItem{drawKey(t)}
		if v.At.IsZero() || v.Day.IsZero() {
			return // refused because it is empty
		}
		it, err := every.Encode(&v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := every.Decode(it)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, v) {
			t.Fatalf("%v read back as %v", v, got)
		}
	})
}

// TestKeysSort checks that keys sort as their times and numbers do.
func TestKeysSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawKey(t), drawKey(t)
		if rapid.Bool().Draw(t, "same time") {
			b.At = a.At
		}
		if a.At.IsZero() || a.Day.IsZero() || b.At.IsZero() || b.Day.IsZero() {
			return
		}
		ka, errA := every.Key(a)
		kb, errB := every.Key(b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		want := a.At.Compare(b.At)
		if want == 0 {
			want = a.Day.Compare(b.Day)
		}
		if want == 0 {
			want = int(int64(a.Seq)-int64(b.Seq)) >> 31
		}
		if got := strings.Compare(text(ka, "sk"), text(kb, "sk")); want != 0 && (got < 0) != (want < 0) {
			t.Fatalf("%q and %q compare as %d, their values as %d", text(ka, "sk"), text(kb, "sk"), got, want)
		}
	})
}

// FuzzKeyValue checks that no text in a key, whatever it contains, produces a key of another entity
// or another owner.
func FuzzKeyValue(f *testing.F) {
	f.Add("a#b")
	f.Add("")
	f.Add("x#SHARD#1")
	f.Fuzz(func(t *testing.T, value string) {
		k := everyKey{Text: value, Kind: "k", At: time.UnixMilli(1), Day: time.UnixMilli(1)}
		key, err := every.Key(k)
		if strings.Contains(value, "#") || value == "" {
			if err == nil {
				t.Fatalf("%q made the key %v", value, key)
			}
			return
		}
		if err == nil && strings.Count(text(key, "pk"), "#") != 3 {
			t.Fatalf("%q made the key %q", value, text(key, "pk"))
		}
	})
}

// FuzzTemplate checks that neither a template nor a stored key makes the parsers panic.
func FuzzTemplate(f *testing.F) {
	f.Add("SITE#{siteId}[#{shard}]", "SITE#a#3")
	f.Add("{at:ms}{x", "]")
	plan := codec.NewCompiler().Plan(reflect.TypeFor[everyKey]())
	f.Fuzz(func(t *testing.T, src, key string) {
		k, problems := bindTemplate("PK", src, plan, true)
		if len(problems) > 0 {
			return
		}
		var v everyKey
		rv := reflect.ValueOf(&v).Elem()
		if k.parse(key, rv) != nil {
			return
		}
		back, missing, err := k.appendTo(nil, rv)
		if err != nil || missing != "" {
			return // such as the zero time
		}
		if second := (everyKey{}); k.parse(string(back), reflect.ValueOf(&second).Elem()) != nil || second != v {
			t.Fatalf("template %q: %q is read as %v, written as %q, read as %v", src, key, v, back, second)
		}
	})
}
