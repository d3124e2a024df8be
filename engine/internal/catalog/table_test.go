package catalog

import (
	"reflect"
	"testing"
)

// TestKeysAreReadAsBefore reads descriptors from the time when an index key had one attribute, and
// writes such keys in the same form.
func TestKeysAreReadAsBefore(t *testing.T) {
	one, two := Key{Name: "a", Type: "S"}, Key{Name: "b", Type: "N"}
	for name, c := range map[string]struct {
		json   string
		want   Index
		format byte
	}{
		"hash":           {`"hash":{"name":"a","type":"S"},"range":{}`, Index{Hash: Keys{one}}, FormatFirst},
		"hash and range": {`"hash":{"name":"a","type":"S"},"range":{"name":"b","type":"N"}`, Index{Hash: Keys{one}, Range: Keys{two}}, FormatFirst},
		"many":           {`"hash":[{"name":"a","type":"S"},{"name":"b","type":"N"}],"range":{}`, Index{Hash: Keys{one, two}}, FormatManyKeys},
	} {
		t.Run(name, func(t *testing.T) {
			text := `{"id":1,"name":"t","uuid":"","created":0,"hash":{"name":"p","type":"S"},"range":{},"indexes":[{"id":0,"name":"",` + c.json + `,"projection":""}],"billing":""}`
			d, err := DecodeTable([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(d.Indexes[0], c.want) {
				t.Errorf("read %+v, want %+v", d.Indexes[0], c.want)
			}
			b, err := d.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if string(b) != text {
				t.Errorf("wrote %s, want %s", b, text)
			}
			if d.Format() != c.format {
				t.Errorf("needs format %d, want %d", d.Format(), c.format)
			}
		})
	}
}
