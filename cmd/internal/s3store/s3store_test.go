package s3store

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/onefold/onefold/warehouse"
	"github.com/onefold/onefold/warehouse/warehousetest"
)

// bucket returns an empty bucket of a server in this process. Every so many requests fail; 0: none.
func bucket(t *testing.T, every int64) *Bucket {
	t.Helper()
	inner := gofakes3.New(s3mem.New()).Server()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if k := n.Add(1); every > 0 && k%every == 0 {
			if k%(2*every) == 0 { // the request succeeds, but its response is lost
				inner.ServeHTTP(httptest.NewRecorder(), r)
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b, err := Open(t.Context(), "warehouse", "s3://facts/of/mine?endpoint="+server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Reachable(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "no_bucket: ") {
		t.Fatalf("without a bucket: %v", err)
	}
	if _, err := b.client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &b.bucket}); err != nil {
		t.Fatal(err)
	}
	b.page = 7
	return b
}

func TestBucket(t *testing.T) {
	b := bucket(t, 0)
	warehousetest.Suite(t, b)
	if err := b.Reachable(t.Context()); err != nil {
		t.Error(err)
	}
}

// Commits of a log survive requests that fail, including requests that fail after they had an
// effect.
func TestCommitsOnce(t *testing.T) {
	t.Parallel()
	commits := int64(40)
	if testing.Short() {
		commits = 4
	}
	b := bucket(t, 5)
	w, err := warehouse.Open(t.Context(), b, warehouse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range commits {
		for w.Version() == n {
			if err := w.Commit(t.Context(), n, &warehouse.Entry{Why: "export", Skipped: 1}); err != nil {
				t.Log(err)
				if err := w.Refresh(t.Context()); err != nil {
					t.Log(err)
				}
			}
		}
	}
	if got := w.Status(); got.Version != commits || got.Skipped != commits {
		t.Errorf("%d commits, %d of them counted", got.Version, got.Skipped)
	}
}

func TestBadPlaces(t *testing.T) {
	for _, place := range []string{"", "s3://", "http://bucket/x", "s3://bucket/x?colour=red", "s3://me:secret@bucket/x"} {
		if _, err := Open(t.Context(), "warehouse", place); err == nil || !strings.HasPrefix(err.Error(), "bad_warehouse: ") {
			t.Errorf("%q: %v", place, err)
		}
	}
	b := bucket(t, 0)
	b.bucket = "another"
	if err := b.PutIfAbsent(t.Context(), "x", nil); err == nil || errors.Is(err, warehouse.ErrExists) || !strings.HasPrefix(err.Error(), "no_bucket: ") {
		t.Errorf("put where there is no bucket: %v", err)
	}
}
