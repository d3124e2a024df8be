package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine"
)

// goldenDatabase is a backup of the database of testdata/format/rows. It was made when the format
// was defined. Every later version must open it and find the same rows. ONEFOLD_WRITE_GOLDEN=1
// creates it again.
const goldenDatabase = "testdata/format/database.tar"

// TestFormat prints all rows of small databases, and names each byte as docs/format/engine.md does.
// The reader below was written from that document and shares no code with the engine. A byte that
// it cannot name is an error.
func TestFormat(t *testing.T) {
	datadriven.RunTest(t, "testdata/format/rows", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "everything":
			db := formatDatabase(t)
			writeGolden(t, db)
			return dump(t, engine.StoreOf(db))
		case "golden":
			return dump(t, engine.StoreOf(openGolden(t)))
		case "postponed":
			db := memory(t, engine.Options{Clock: newClock().now, IndexDelay: time.Second})
			must[*dynamodb.CreateTableOutput](t)(db.CreateTable(t.Context(), tableInput("one")))
			putItem(t, db, "one", item{"pk": str("a"), "sk": str("b"), "gsi1pk": str("c"), "gsi1sk": str("d")})
			return dump(t, engine.StoreOf(db))
		}
		return "unknown command " + d.Cmd
	})
}

func writeGolden(t *testing.T, db *engine.DB) {
	t.Helper()
	if os.Getenv("ONEFOLD_WRITE_GOLDEN") == "" {
		return
	}
	var b bytes.Buffer
	must[*engine.BackupManifest](t)(db.BackupTo(t.Context(), &b, nil))
	if err := os.WriteFile(goldenDatabase, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func openGolden(t *testing.T) *engine.DB {
	t.Helper()
	f := must[*os.File](t)(os.Open(goldenDatabase))
	defer f.Close()
	dir := filepath.Join(t.TempDir(), "golden")
	must[*engine.BackupManifest](t)(engine.RestoreFrom(t.Context(), f, dir, nil))
	db := must[*engine.DB](t)(engine.Open(dir, engine.Options{TTLInterval: -1, Clock: newClock().now}))
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	checkClean(t, db)
	return db
}

// formatDatabase returns a database with one row of each kind and one value of each type.
func formatDatabase(t *testing.T) *engine.DB {
	t.Helper()
	ctx, c := context.Background(), newClock()
	db := memory(t, engine.Options{Clock: c.now, StreamShards: 2, RollEvery: 2})
	key := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: kind}
	}
	in := &dynamodb.CreateTableInput{
		TableName: ptr("one"), BillingMode: types.BillingModePayPerRequest, Tags: []types.Tag{{Key: ptr("env"), Value: ptr("test")}},
		KeySchema: []types.KeySchemaElement{key("pk", "HASH"), key("sk", "RANGE")},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: ptr("pk"), AttributeType: "S"}, {AttributeName: ptr("sk"), AttributeType: "N"},
			{AttributeName: ptr("b"), AttributeType: "B"}, {AttributeName: ptr("s"), AttributeType: "S"}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: ptr("several"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"yes"}},
			KeySchema: []types.KeySchemaElement{key("b", "HASH"), key("s", "HASH"), key("sk", "RANGE")}}},
		LocalSecondaryIndexes: []types.LocalSecondaryIndex{{IndexName: ptr("local"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
			KeySchema: []types.KeySchemaElement{key("pk", "HASH"), key("s", "RANGE")}}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: ptr(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, in))
	enableTTL(t, db, "one")
	awaitFilled(t, db, "one")
	putItem(t, db, "one", item{"pk": str("a\x00b"), "sk": digits("-12.5"), "b": &types.AttributeValueMemberB{Value: []byte{0, 1}}, "s": str("é"), "yes": &types.AttributeValueMemberBOOL{Value: true}})
	putItem(t, db, "one", item{"pk": str("all"), "sk": digits("0"), "no": &types.AttributeValueMemberBOOL{Value: false}, "null": &types.AttributeValueMemberNULL{Value: true},
		"map": &types.AttributeValueMemberM{Value: item{"list": &types.AttributeValueMemberL{Value: []types.AttributeValue{digits("1"), str("x")}}}},
		"ss":  &types.AttributeValueMemberSS{Value: []string{"b", "a"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"10", "-1"}}, "bs": &types.AttributeValueMemberBS{Value: [][]byte{{2}, {1}}},
		"big": digits("1e125"), "small": digits("-1.5e-130"), "long": digits("12345678901234567890123456789012345678"), "ttl": digits(fmt.Sprint(c.now().Unix() + 60))})
	putItem(t, db, "one", item{"pk": str("all"), "sk": digits("0"), "ttl": digits(fmt.Sprint(c.now().Unix() + 30))})
	putItem(t, db, "one", item{"pk": str("kept"), "sk": digits("1050"), "ttl": digits(fmt.Sprint(c.now().Unix() + 3600))})
	c.add(time.Minute)
	must[int](t)(db.ExpireNow(ctx))
	small := tableInput("two")
	small.GlobalSecondaryIndexes, small.AttributeDefinitions, small.KeySchema = nil, small.AttributeDefinitions[:1], small.KeySchema[:1]
	small.StreamSpecification.StreamViewType = types.StreamViewTypeKeysOnly
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, small))
	must[*dynamodb.TransactWriteItemsOutput](t)(db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{ClientRequestToken: ptr("token"),
		TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: ptr("two"), Item: item{"pk": str("x"), "v": digits("7")}}}}}))
	return db
}

var (
	errFormat = errors.New("not as documented")
	uuidOfRow = regexp.MustCompile(`"uuid":"[0-9a-f-]{36}"`)
)

// dump prints the rows of a store.
func dump(t *testing.T, store *pebble.DB) string {
	t.Helper()
	it := must[*pebble.Iterator](t)(store.NewIter(nil))
	defer it.Close()
	tables, out := describedTables(t, store), new(strings.Builder)
	for ok := it.First(); ok; ok = it.Next() {
		k, v := &spelled{b: it.Key(), out: out, side: "key  "}, &spelled{b: it.Value(), out: out, side: "value"}
		if err := errors.Join(spellRow(k, v, tables), k.end(), v.end()); err != nil {
			t.Errorf("row %x = %x: %v\n%s", it.Key(), it.Value(), err, out)
			break
		}
	}
	return out.String()
}

// keysOfTable is the number of key values in the keys of a table and of its indexes.
type keysOfTable struct {
	primary int
	index   map[uint32]int
}

// These types hold descriptors as the document describes them.
type (
	documentedKey   struct{ Name, Type string }
	documentedUnits struct{ Read, Write, MaxRead, MaxWrite, WarmRead, WarmWrite int64 }
	documentedTable struct {
		ID          uint32
		Name, UUID  string
		Created     int64
		Hash, Range documentedKey
		Indexes     []documentedIndex
		Billing     string
		documentedUnits
		Stream, Latest      uint32
		TTL                 string
		Filling, Guarded    bool
		Class               string
		ClassAt, OnDemandAt int64
		Encryption          *struct{ Key string }
		Tags                map[string]string
	}
	documentedIndex struct {
		ID          uint32
		Name        string
		Local       bool
		Hash, Range json.RawMessage
		Projection  string
		Include     []string
		documentedUnits
		Building bool
	}
	documentedStream struct {
		ID                 uint32
		Table, Label, View string
		Created, Disabled  int64
		Hash, Range        documentedKey
		NextShard          uint32
		Shards             []struct {
			ID, Parent                  uint32
			ParentOpened, Opened, Ended int64
			Slot                        int
			First, Last                 uint64
			Closed                      bool
		}
	}
)

// strictly decodes JSON and accepts only documented fields.
func strictly(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// parts returns the number of attributes in a key of an index: none, one, or the length of a list.
func parts(raw json.RawMessage) (n int, err error) {
	if len(raw) > 0 && raw[0] == '[' {
		var list []documentedKey
		err = strictly(raw, &list)
		return len(list), err
	}
	var one documentedKey
	if err = strictly(raw, &one); err == nil && one.Name != "" {
		n = 1
	}
	return n, err
}

func describedTables(t *testing.T, store *pebble.DB) map[uint32]keysOfTable {
	t.Helper()
	tables := map[uint32]keysOfTable{}
	it := must[*pebble.Iterator](t)(store.NewIter(&pebble.IterOptions{LowerBound: []byte{2}, UpperBound: []byte{3}}))
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		var d documentedTable
		if err := strictly(it.Value(), &d); err != nil {
			t.Fatal(err)
		}
		k := keysOfTable{primary: 1, index: map[uint32]int{}}
		if d.Range.Name != "" {
			k.primary = 2
		}
		for _, x := range d.Indexes {
			hash, err := parts(x.Hash)
			rng, rerr := parts(x.Range)
			if err := errors.Join(err, rerr); err != nil {
				t.Fatal(err)
			}
			k.index[x.ID] = hash<<8 + rng
		}
		tables[d.ID] = k
	}
	return tables
}

// spelled takes bytes from the front and writes what they mean.
type spelled struct {
	b    []byte
	out  *strings.Builder
	side string
	err  error
}

func (s *spelled) take(n int, what string, args ...any) []byte {
	if s.err != nil || n < 0 || n > len(s.b) {
		s.err = errors.Join(s.err, fmt.Errorf("%w: %d bytes of %s in %x", errFormat, n, what, s.b))
		return make([]byte, max(0, min(n, 64)))
	}
	taken := s.b[:n]
	s.b = s.b[n:]
	if what != "" {
		fmt.Fprintf(s.out, "  %s %-24s %s\n", s.side, fmt.Sprintf("%x", taken), fmt.Sprintf(what, args...))
	}
	return taken
}

func (s *spelled) end() error {
	if s.err == nil && len(s.b) > 0 {
		s.err = fmt.Errorf("%w: %x is left of the %s", errFormat, s.b, strings.TrimSpace(s.side))
	}
	return s.err
}

func (s *spelled) u32(what string) uint32 {
	n := binary.BigEndian.Uint32(append([]byte{0, 0, 0, 0}, s.peek(4)...)[len(s.peek(4)):])
	s.take(4, "%s %d", what, n)
	return n
}

func (s *spelled) u64(what string) uint64 {
	n := binary.BigEndian.Uint64(append(make([]byte, 8), s.peek(8)...)[len(s.peek(8)):])
	s.take(8, "%s %d", what, n)
	return n
}

func (s *spelled) peek(n int) []byte { return s.b[:min(n, len(s.b))] }

func (s *spelled) uvarint(what string) uint64 {
	n, w := binary.Uvarint(s.b)
	s.take(w, "%s %d", what, n)
	return n
}

// text takes a length and a text of that length.
func (s *spelled) text(what string) string {
	n, w := binary.Uvarint(s.b)
	s.take(w, "")
	b := s.take(int(n), "")
	fmt.Fprintf(s.out, "  %s %-24s %s %q\n", s.side, fmt.Sprintf("%x %x", n, b), what, b)
	return string(b)
}

// hashed takes a hash and the key values that it is computed from.
func (s *spelled) hashed(values int, what string) {
	hash := s.u32("hash")
	before := s.b
	for range values {
		s.key(what)
	}
	if of := before[:len(before)-len(s.b)]; s.err == nil && hash != uint32(xxhash.Sum64(of)>>32) {
		s.err = fmt.Errorf("%w: %08x is not the hash of %x", errFormat, hash, of)
	}
}

// primary takes the primary key bytes of an item.
func (s *spelled) primary(values int) {
	s.hashed(1, "partition key")
	for range values - 1 {
		s.key("sort key")
	}
}

// key takes one key value.
func (s *spelled) key(what string) {
	if len(s.b) == 0 {
		s.take(1, "%s", what)
		return
	}
	switch tag := s.b[0]; tag {
	case 0x20, 0x30:
		end := bytes.Index(s.b, []byte{0, 1})
		if end < 0 {
			s.take(-1, "%s", what)
			return
		}
		value := bytes.ReplaceAll(s.b[1:end], []byte{0, 0xff}, []byte{0})
		s.take(end+2, "%s %s %q", what, map[byte]string{0x20: "S", 0x30: "B"}[tag], value)
	case 0x11:
		s.take(1, "%s N 0", what)
	case 0x10, 0x12:
		s.keyNumber(what, tag)
	default:
		s.take(-1, "%s", what)
	}
}

func (s *spelled) keyNumber(what string, tag byte) {
	flip, sign := byte(0), ""
	if tag == 0x10 {
		flip, sign = 0xff, "-"
	}
	pairs := ""
	for i := 2; i < len(s.b); i++ {
		pair := s.b[i] ^ flip
		pairs += fmt.Sprintf("%02d", pair/2)
		if pair%2 == 0 {
			s.take(i+1, "%s N %s0.%s × 100^%d", what, sign, pairs, int(s.b[1]^flip)-64)
			return
		}
	}
	s.take(-1, "%s", what)
}

// row takes an item with its size.
func (s *spelled) row() {
	s.uvarint("size")
	if s.take(1, "version of the item")[0] != 1 {
		s.err = fmt.Errorf("%w: version of an item", errFormat)
	}
	s.attrs()
}

func (s *spelled) attrs() {
	for n := s.uvarint("attributes"); n > 0 && s.err == nil; n-- {
		s.text("name")
		s.value()
	}
}

func (s *spelled) value() {
	switch s.peek(1)[0] {
	case 1, 2:
		s.text(map[byte]string{1: "S", 2: "B"}[s.take(1, "")[0]])
	case 3:
		n, w := binary.Varint(s.b[1:])
		s.take(1+w, "N %d", n)
	case 4:
		s.number()
	case 5, 6, 7:
		s.take(1, "%s", []string{"false", "true", "NULL"}[s.b[0]-5])
	case 8:
		s.take(1, "M")
		s.sized(s.attrs)
	case 9:
		s.take(1, "L")
		s.sized(func() { s.members(s.value) })
	case 10, 12:
		s.take(1, "%s", map[byte]string{10: "SS", 12: "BS"}[s.b[0]])
		s.sized(func() { s.members(func() { s.text("member") }) })
	case 11:
		s.take(1, "NS")
		s.sized(func() { s.members(s.value) })
	default:
		s.take(-1, "a value")
	}
}

// number takes (hi·2^64 + lo) × 10^exponent.
func (s *spelled) number() {
	at := 1
	next := func() uint64 { n, w := binary.Uvarint(s.b[at:]); at += w; return n }
	head := next()
	exponent := int64(head>>1) >> 1
	if head>>1&1 != 0 {
		exponent = ^exponent
	}
	lo := next()
	n := new(big.Int).SetUint64(next())
	n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(lo))
	if head&1 != 0 {
		n.Neg(n)
	}
	s.take(at, "N %s × 10^%d", n, exponent)
}

// sized takes a length and a part of that length.
func (s *spelled) sized(what func()) {
	n := int(s.uvarint("bytes"))
	before := len(s.b)
	what()
	if s.err == nil && before-len(s.b) != n {
		s.err = fmt.Errorf("%w: %d bytes, not %d", errFormat, before-len(s.b), n)
	}
}

func (s *spelled) members(member func()) {
	for n := s.uvarint("members"); n > 0 && s.err == nil; n-- {
		member()
	}
}

// record takes a stream record.
func (s *spelled) record() {
	s.take(1, "version of the record")
	flags := s.take(1, "flags")[0]
	s.u64("made at")
	for _, image := range []struct {
		flag byte
		name string
	}{{8, "keys"}, {16, "old image"}, {32, "new image"}} {
		if flags&image.flag != 0 && s.err == nil {
			s.uvarint(image.name + ", bytes")
			s.row()
		}
	}
	if names := flags & 7; names != 1 && names != 2 && names != 4 || flags&0x80 != 0 {
		s.err = errors.Join(s.err, fmt.Errorf("%w: flags %x", errFormat, flags))
	}
}

// spellRow writes what the bytes of one row mean.
func spellRow(k, v *spelled, tables map[uint32]keysOfTable) error {
	space := k.peek(1)[0]
	title := map[byte]string{1: "counter", 2: "table", 3: "stream", 0x10: "item", 0x20: "index entry", 0x30: "stream record", 0x40: "expiry", 0x50: "token", 0x51: "token by time", 0x60: "postponed"}
	fmt.Fprintln(k.out, title[space])
	k.take(1, "space")
	switch space {
	case 1:
		return spellCounter(k, v)
	case 2:
		k.take(len(k.b), "name %q", k.b)
		masked := uuidOfRow.ReplaceAll(v.b, []byte(`"uuid":"…"`))
		fmt.Fprintf(v.out, "  value %s\n", masked)
		v.take(len(v.b), "")
	case 3:
		k.u32("stream")
		var d documentedStream
		if err := strictly(v.b, &d); err != nil {
			return err
		}
		fmt.Fprintf(v.out, "  value %s\n", v.b)
		v.take(len(v.b), "")
	case 0x10:
		k.primary(tables[k.u32("table")].primary)
		v.row()
	case 0x20:
		spellEntry(k, tables)
		v.row()
	case 0x30:
		k.u32("stream")
		k.u32("shard")
		k.u64("sequence")
		v.record()
	case 0x40:
		table := k.u32("table")
		k.u64("expires at")
		k.primary(tables[table].primary)
	default:
		return spellOther(space, k, v, tables)
	}
	return nil
}

func spellOther(space byte, k, v *spelled, tables map[uint32]keysOfTable) error {
	switch space {
	case 0x50:
		k.take(len(k.b), "token %q", k.b)
		v.u64("lapses at")
		v.take(32, "SHA-256 of the request")
	case 0x51:
		k.u64("lapses at")
		k.take(len(k.b), "token %q", k.b)
	case 0x60:
		k.u64("due at")
		k.u64("number")
		if n := v.uvarint("gone, bytes"); n > 0 {
			v.take(1, "space")
			spellEntry(v, tables)
		}
		if n := v.uvarint("comes, bytes"); n > 0 {
			v.take(1, "space")
			spellEntry(v, tables)
			v.uvarint("value, bytes")
			v.row()
		}
	default:
		return fmt.Errorf("%w: space %x", errFormat, space)
	}
	return nil
}

func spellCounter(k, v *spelled) error {
	switch name := k.take(1, "name")[0]; name {
	case 'f':
		v.take(1, "format version")
	case 'o':
		v.take(1, "open")
	case 's':
		v.u64("sequence numbers below")
	case 't':
		v.u64("ids below")
	case 'c':
		k.u32("table")
		v.u64("items")
		v.u64("bytes")
	case 'e':
		k.u32("table")
		v.u64("items")
		v.u64("bytes")
		for len(v.b) > 0 && v.err == nil {
			v.u32("index")
			v.u64("entries")
			v.u64("bytes")
		}
	default:
		return fmt.Errorf("%w: counter %q", errFormat, name)
	}
	return nil
}

// spellEntry takes the key of an index entry, after its key space byte.
func spellEntry(k *spelled, tables map[uint32]keysOfTable) {
	t := tables[k.u32("table")]
	n := t.index[k.u32("index")]
	k.hashed(n>>8, "index hash key")
	for range n & 0xff {
		k.key("index range key")
	}
	k.primary(t.primary)
}

func digits(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
