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

// parts is how many uploads are under way.
func parts(t *testing.T, b *Bucket) int {
	t.Helper()
	out, err := b.client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &b.bucket})
	if codeOf(err) == "NoSuchUpload" { // as this server says that there are none
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

// Streams of any length are what was read when they are stored.
func TestUpload(t *testing.T) {
	const part = 5 << 20 // the least that a service takes
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

// Of a stream that fails, and of one whose reader is told to stop, nothing is there.
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

// stopping is a reader of nothing that stops a context.
type stopping func()

func (s stopping) Read([]byte) (int, error) {
	s()
	return 0, io.EOF
}
