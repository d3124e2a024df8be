package warehousetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onefold/onefold/warehouse"
)

// Suite tests that objects behave as warehouse.Objects documents. They must be empty.
func Suite(t *testing.T, o warehouse.Objects) {
	t.Helper()
	s := &suite{T: t, ctx: t.Context(), o: o}
	s.putAndOpen()
	s.list()
	s.race()
}

type suite struct {
	*testing.T
	ctx context.Context
	o   warehouse.Objects
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) content(name string) string {
	s.Helper()
	f, err := s.o.Open(s.ctx, name)
	s.must(err)
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	s.must(err)
	return string(b)
}

func (s *suite) putAndOpen() {
	s.Helper()
	name := "events/site=a%20b/date=2026-04-20/x.parquet"
	if _, err := s.o.Open(s.ctx, name); !errors.Is(err, warehouse.ErrNotFound) {
		s.Errorf("open of what there is not: %v", err)
	}
	big := strings.Repeat("0123456789abcdef", 1<<18)
	for _, body := range []string{"one", "", big} {
		s.must(s.o.Put(s.ctx, name, strings.NewReader(body)))
		if got := s.content(name); got != body {
			s.Errorf("%d bytes came of %d", len(got), len(body))
		}
	}
	f, err := s.o.Open(s.ctx, name)
	s.must(err)
	part := make([]byte, 32)
	if n, err := f.ReadAt(part, 1<<20+3); n != 32 || err != nil || string(part) != big[1<<20+3:1<<20+35] {
		s.Errorf("a part: %q, %v", part[:n], err)
	}
	if n, err := f.ReadAt(part, f.Size()-5); n != 5 || !errors.Is(err, io.EOF) {
		s.Errorf("the end: %d, %v", n, err)
	}
	s.must(f.Close())
	s.must(s.o.PutIfAbsent(s.ctx, "_log/1.json", []byte("{}")))
	if err := s.o.PutIfAbsent(s.ctx, "_log/1.json", []byte("[]")); !errors.Is(err, warehouse.ErrExists) {
		s.Errorf("put of what is there: %v", err)
	}
	if got := s.content("_log/1.json"); got != "{}" {
		s.Errorf("it is %q", got)
	}
	s.must(s.o.Delete(s.ctx, name, "_log/1.json", "events/never/was.parquet"))
	if _, err := s.o.Open(s.ctx, name); !errors.Is(err, warehouse.ErrNotFound) {
		s.Errorf("open of what was deleted: %v", err)
	}
}

func (s *suite) names(prefix, after string) (all []string) {
	s.Helper()
	for name, err := range s.o.List(s.ctx, prefix, after) {
		s.must(err)
		all = append(all, name)
	}
	return all
}

func (s *suite) list() {
	s.Helper()
	var want []string
	for i := range 25 {
		name := fmt.Sprintf("_log/%03d.json", i)
		want = append(want, name)
		s.must(s.o.PutIfAbsent(s.ctx, name, []byte("x")))
	}
	s.must(s.o.Put(s.ctx, "events/a.parquet", strings.NewReader("x")))
	if got := s.names("_log/", ""); !slices.Equal(got, want) {
		s.Errorf("list: %v", got)
	}
	if got := s.names("_log/", want[20]); !slices.Equal(got, want[21:]) {
		s.Errorf("list after %s: %v", want[20], got)
	}
	if got := s.names("nothing/", ""); len(got) > 0 {
		s.Errorf("list of nothing: %v", got)
	}
	for range s.o.List(s.ctx, "_log/", "") {
		break // the caller may stop early
	}
	s.must(s.o.Delete(s.ctx, append(want, "events/a.parquet")...))
	if got := s.names("_log/", ""); len(got) > 0 {
		s.Errorf("after all were deleted: %v", got)
	}
}

// race lets several writers put the same name at once.
func (s *suite) race() {
	s.Helper()
	for round := range 10 {
		name := fmt.Sprintf("_log/race-%d.json", round)
		var won atomic.Int32
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() {
				switch err := s.o.PutIfAbsent(s.ctx, name, []byte{byte('0' + i)}); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, warehouse.ErrExists):
					s.Error(err)
				}
			})
		}
		wait.Wait()
		if won.Load() != 1 || len(s.content(name)) != 1 {
			s.Errorf("%d of 8 put %s", won.Load(), name)
		}
	}
}
