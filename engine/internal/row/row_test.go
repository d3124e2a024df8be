package row_test

import (
	"bytes"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/row"
)

func TestUpperBound(t *testing.T) {
	for in, want := range map[string]string{"a": "b", "a\xff": "b", "a\xfe\xff\xff": "a\xff"} {
		if got := row.UpperBound([]byte(in)); string(got) != want {
			t.Errorf("UpperBound(%q) = %q, want %q", in, got, want)
		}
	}
	if got := row.UpperBound([]byte{0xff, 0xff}); got != nil {
		t.Errorf("UpperBound of the last bytes = %x", got)
	}
}

func TestRecord(t *testing.T) {
	old := row.Append(nil, item.Item{"pk": &types.AttributeValueMemberS{Value: "a"}})
	fresh := row.Append(nil, item.Item{"pk": &types.AttributeValueMemberS{Value: "a"}, "v": &types.AttributeValueMemberN{Value: "1"}})
	keys := func() []byte { return old }
	for _, c := range []struct {
		view                       types.StreamViewType
		old, new                   []byte
		service                    bool
		flags                      byte
		wantKeys, wantOld, wantNew []byte
	}{
		{types.StreamViewTypeNewAndOldImages, nil, fresh, false, row.Insert, nil, nil, fresh},
		{types.StreamViewTypeNewAndOldImages, old, fresh, false, row.Modify, nil, old, fresh},
		{types.StreamViewTypeNewAndOldImages, old, nil, true, row.Remove | row.Service, nil, old, nil},
		{types.StreamViewTypeNewImage, old, nil, false, row.Remove, old, nil, nil},
		{types.StreamViewTypeOldImage, nil, fresh, false, row.Insert, old, nil, nil},
		{types.StreamViewTypeKeysOnly, old, fresh, false, row.Modify, old, nil, nil},
	} {
		r, err := row.ParseRecord(row.AppendRecord(nil, c.view, 42, c.service, c.old, c.new, keys))
		if err != nil {
			t.Fatal(err)
		}
		if r.Millis != 42 || r.Flags&c.flags != c.flags || !bytes.Equal(r.Keys, c.wantKeys) || !bytes.Equal(r.Old, c.wantOld) || !bytes.Equal(r.New, c.wantNew) {
			t.Errorf("%s: %+v", c.view, r)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	image := row.Append(nil, item.Item{"pk": &types.AttributeValueMemberS{Value: "a"}})
	f.Add(row.AppendRecord(nil, types.StreamViewTypeNewAndOldImages, 1, false, image, nil, nil))
	f.Add(row.AppendRecord(nil, types.StreamViewTypeKeysOnly, 1, false, nil, image, func() []byte { return image }))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := row.ParseRecord(b)
		if err != nil {
			return
		}
		for _, image := range [][]byte{r.Keys, r.Old, r.New} {
			if image == nil {
				continue
			}
			// Whatever the bytes are, decoding must return an item or an error.
			if it, err := row.Decode(image); err == nil && it == nil {
				t.Error("an image without an item and without an error")
			}
		}
	})
}
