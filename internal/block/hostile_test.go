package block_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/onefold/onefold/internal/block"
)

// sealed returns a body with the given bytes and their checksum.
func sealed(parts ...string) []byte {
	b := []byte(strings.Join(parts, ""))
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

func zstandard(t testing.TB, s string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(z.EncodeAll([]byte(s), nil))
}

// Every flipped bit of a body is detected.
func TestEveryBitCounts(t *testing.T) {
	for _, name := range golden {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for bit := range 8 * len(body) {
			body[bit/8] ^= 1 << (bit % 8)
			if got, err := things.Decode(nil, body); !errors.Is(err, block.ErrCorrupt) && !errors.Is(err, block.ErrVersion) || got != nil {
				t.Fatalf("%s: bit %d is turned, and %d facts are read: %v", name, bit, len(got), err)
			}
			body[bit/8] ^= 1 << (bit % 8)
		}
		for n := range body {
			if _, err := things.Decode(nil, body[:n]); err == nil {
				t.Fatalf("%s: %d bytes of it are read", name, n)
			}
		}
	}
}

// corrupt returns invalid bodies by their error. The checksums of all but one are correct.
func corrupt(t testing.TB) map[string][]byte {
	t.Helper()
	long := strings.Repeat("a", 1000)
	return map[string][]byte{
		"are too few":                nil,
		"sum is wrong":               []byte("\x01t\x00\x00\x00\x00\x00\x00\x00"),
		"facts of kind 117":          sealed("\x01u\x00\x00\x00"),
		"4097 facts":                 sealed("\x01t\x00\x81\x20\x00"),
		"columns":                    sealed("\x01t\x00\x01\x05"),
		"head of column 1 of 1":      sealed("\x01t\x00\x01\x01\x02\x01"),
		"head of column 2 of 2":      sealed("\x01t\x00\x01\x02", "\x02\x01\x01", "\x02\x01\x01", "ab"), // a number twice
		"more than 4194304":          sealed("\x01t\x00\x01\x02", "\x02\x01\xff\xff\xff\x01", "\x03\x01\xff\xff\xff\x01"),
		"do not fit":                 sealed("\x01t\x00\x01\x01", "\x02\x01\x02", "abc"),
		"of 3 bytes do not fit":      sealed("\x01t\x00\x01\x01", "\x01\x45\x03", "ab"), // set aside
		"column 4 is cut short":      sealed("\x01t\x00\x02\x01", "\x04\x04\x01", "\x02"),
		"column 4 is too long":       sealed("\x01t\x00\x01\x01", "\x04\x04\x02", "\x02\x02"),
		"that do not exist":          sealed("\x01t\x00\x02\x01", "\x06\x20\x01", "\x05"),
		"column 6: it has no values": sealed("\x01t\x00\x02\x01", "\x06\x20\x01", "\x00"),
		"no values":                  sealed("\x01t\x00\x00\x01", "\x02\x01\x00"),
		"too large for its field":    sealed("\x01t\x00\x01\x01", "\x03\x04\x02", "\x80\x02"),
		"one text for many facts":    sealed("\x01t\x00\x02\x01", "\x02\x01\x01", "a"),
		"not in its dictionary":      sealed("\x01t\x00\x02\x01", "\x02\x02\x05", "\x01\x01a", "\x00\x02"),
		"column 2: a text is not":    sealed("\x01t\x00\x02\x01", "\x02\x02\x05", "\x01\x01a", "\x00\x00"),
		"column 2 is cut short":      sealed("\x01t\x00\x02\x01", "\x02\x02\x05", "\x01\x09a", "\x00\x00"),
		"not one of a ULID":          sealed("\x01t\x00\x01\x01", "\x01\x45\x0b", "\x01", long[:10]),
		"decimal places make no":     sealed("\x01t\x00\x01\x01", "\x07\x06\x03", "\x07\x04\x02"),
		"column 7: its decimal":      sealed("\x01t\x00\x01\x01", "\x07\x06\x03", "\x01\x07\x02"),
		"nested value makes no":      sealed("\x01t\x00\x01\x01", "\x0a\x08\x03", "\x00", "\x01\x00"),
		"column 255: a nested":       sealed("\x01t\x00\x01\x01", "\xff\x08\x07", "\x01\x01a", "\x01\x00\x00\x04"), // rejected by its reader
		"column 10: a nested":        sealed("\x01t\x00\x01\x01", "\x0a\x08\x05", "\x01\x01a", "\x00\x00"),
		"column 200: a nested":       sealed("\x01t\x00\x02\x01", "\xc8\x18\x03", "\x00", "\x00\x00"), // shared by two
		"decompress columns":         sealed("\x01t\x01\x01\x01", "\x02\x01\x02", "no frame"),
		"as many bytes as the head":  sealed("\x01t\x01\x01\x01", "\x02\x01\x03", zstandard(t, "ab")),
		"decompress columns: dec":    sealed("\x01t\x01\x01\x01", "\x02\x01\x03", zstandard(t, long)),
	}
}

func TestCorrupt(t *testing.T) {
	for why, body := range corrupt(t) {
		got, err := things.Decode(nil, body)
		if !errors.Is(err, block.ErrCorrupt) || !strings.Contains(err.Error(), why) || got != nil {
			t.Errorf("not %q: %v", why, err)
		}
	}
}

// newer are bodies that only a newer version can have written, by their error.
var newer = map[string][]byte{
	"format is 2":                {2, 't', 0, 0, 0, 0, 0, 0, 0, 0, 0},
	"codec is 2":                 sealed("\x01t\x02\x00\x00"),
	"it has a column 99":         sealed("\x01t\x00\x01\x01", "\x63\x01\x01", "a"),
	"its column 4 has the form":  sealed("\x01t\x00\x01\x01", "\x04\x0f\x01", "a"),
	"its column 2 has the form ": sealed("\x01t\x00\x01\x01", "\x02\x05\x01", "a"), // a form for IDs
}

func TestNewer(t *testing.T) {
	for why, body := range newer {
		got, err := things.Decode(nil, body)
		if !errors.Is(err, block.ErrVersion) || !strings.Contains(err.Error(), why) || got != nil {
			t.Errorf("not %q: %v", why, err)
		}
	}
}

// A reader of an older version skips the columns that are skippable, and rejects the others.
func TestUnknownColumns(t *testing.T) {
	facts := someThings(40)
	body := appended(t, things, facts)
	older := block.New('t', thingColumns[:11]...)
	got, err := older.Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := range facts {
		facts[i].Pieces = nil
	}
	if !slices.Equal(allSaid(got), allSaid(facts)) {
		t.Error("without pieces it is something else")
	}
	muchOlder := block.New('t', thingColumns[:10]...)
	if _, err := muchOlder.Decode(nil, body); !errors.Is(err, block.ErrVersion) {
		t.Errorf("a column is unknown: %v", err)
	}
	if _, err := muchOlder.Decode(nil, body, 1); !errors.Is(err, block.ErrVersion) {
		t.Errorf("a column is unknown, and another wanted: %v", err)
	}
}

func TestSchemasAreChecked(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two columns have the same number")
		}
	}()
	block.New('t', thingColumns[0], thingColumns[0])
}

// A small body cannot take much memory, whatever it claims.
func TestMemory(t *testing.T) {
	most := "\xff\xff\xff\x01" // 4 MiB minus one
	many := string(make([]byte, 1<<22-1))
	for name, body := range map[string][]byte{
		"many facts":         sealed("\x01t\x00\x80\x20\x00"),
		"a large column":     sealed("\x01t\x01\x01\x01", "\x02\x01", most, zstandard(t, many)),
		"a large dictionary": sealed("\x01t\x01\x01\x01", "\x0a\x08", most, zstandard(t, "\xff\xff\xff\x01"+many[4:])),
		"a long list":        sealed("\x01t\x01\x01\x01", "\x0a\x08", most, zstandard(t, "\x00\xf0\xff\xff\x01"+many[5:])),
		"many long lists":    sealed("\x01t\x01\x80\x20\x01", "\x0a\x18\x84\x80\x04", zstandard(t, "\x01\x00\xff\xff\x03"+many[:1<<16-1])),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = things.Decode(nil, body)
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 32<<20 {
			t.Errorf("%s: %d bytes of body take %d MB", name, len(body), taken>>20)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range golden {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body[:len(body)-4])
	}
	for _, bodies := range []map[string][]byte{corrupt(f), newer} {
		for _, body := range bodies {
			f.Add(body[:max(len(body)-4, 0)])
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		_, _ = things.Decode(nil, content) // the checksum is most probably wrong
		facts, err := things.Decode(nil, sealed(string(content)))
		if err != nil {
			if !errors.Is(err, block.ErrCorrupt) && !errors.Is(err, block.ErrVersion) || facts != nil {
				t.Fatalf("%d facts, %v", len(facts), err)
			}
			return
		}
		rewritten(t, facts)
	})
}

// FuzzColumn decodes the data of one column.
func FuzzColumn(f *testing.F) {
	for _, number := range []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 200, 201, 255} {
		for form := range byte(9) {
			f.Add(number, form, uint16(3), "\x01\x01a\x00\x01\x01")
			f.Add(byte(201), form, uint16(2), "\x01\x01a\x01\x00\x01"+string(rune(form))+"\x01\x02\x00\x04\x06")
			f.Add(number, form|0x30, uint16(9), "\x03\x01\x01\x01abc\x00\x01\x02")
		}
	}
	f.Fuzz(func(t *testing.T, number, form byte, facts uint16, data string) {
		head := binary.AppendUvarint([]byte("\x01t\x00"), uint64(facts))
		head = append(head, 1, number, form)
		head = binary.AppendUvarint(head, uint64(len(data)))
		if got, err := things.Decode(nil, sealed(string(head), data)); err == nil {
			rewritten(t, got)
		}
	})
}

// rewritten checks that decoded facts can be encoded, and are the same when decoded again.
func rewritten(t *testing.T, facts []thing) {
	t.Helper()
	body, err := things.Append(nil, facts)
	if err != nil {
		t.Fatal(err)
	}
	again, err := things.Decode(nil, body)
	if err != nil || !slices.Equal(allSaid(again), allSaid(facts)) {
		t.Fatalf("%q is read again as %q, %v", allSaid(facts), allSaid(again), err)
	}
}
