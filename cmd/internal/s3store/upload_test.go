package s3store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/onefold/onefold/warehouse"
)

// parts returns the number of running uploads.
func parts(t *testing.T, b *Bucket) int {
	t.Helper()
	out, err := b.client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &b.bucket})
	if codeOf(err) == "NoSuchUpload" { // the response of this server if there are none
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(out.Uploads)
}

func random(n int) []byte {
	all := make([]byte, n)
	for i, r := 0, rand.New(rand.NewPCG(1, uint64(n))); i < n; i++ {
		all[i] = byte(r.Uint32())
	}
	return all
}

// A stored stream of any length equals what was read.
func TestUpload(t *testing.T) {
	const part = 5 << 20 // minimum size of a part
	b := bucket(t, 0)
	b.part = part
	for _, n := range []int{0, 1, part - 1, part, part + 1, 2*part + 12345} {
		want := random(n)
		if err := b.Upload(t.Context(), "x", iotest.HalfReader(bytes.NewReader(want))); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		o, err := b.Open(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size())); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes came back as %d: %v", n, len(got), err)
		}
	}
}

// A stream that fails, or whose reader is cancelled, leaves nothing behind.
func TestUploadFails(t *testing.T) {
	b := bucket(t, 0)
	b.part = 5 << 20
	broken := errors.New("broken")
	for _, n := range []int{0, 1, 5 << 20, 11 << 20} {
		if err := b.Upload(t.Context(), "x", io.MultiReader(bytes.NewReader(random(n)), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("%d bytes: %v", n, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		err := b.Upload(ctx, "x", io.MultiReader(bytes.NewReader(random(n)), stopping(stop), bytes.NewReader(random(6<<20))))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d bytes, stopped: %v", n, err)
		}
		if _, err := b.Open(t.Context(), "x"); !errors.Is(err, warehouse.ErrNotFound) {
			t.Errorf("%d bytes: there is an object: %v", n, err)
		}
		if left := parts(t, b); left > 0 {
			t.Errorf("%d bytes: %d uploads are left", n, left)
		}
	}
}

// stopping is an empty reader that cancels a context.
type stopping func()

func (s stopping) Read([]byte) (int, error) {
	s()
	return 0, io.EOF
}
