package main

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/shred"
)

// collect is shorter than in reality, because everything polls while time passes.
const collect = time.Minute

// desk is an open library in a test.
type desk struct {
	*testing.T
	*Library
}

// inLibrary runs a test in a library whose time passes when everything waits.
func inLibrary(t *testing.T, test func(*desk)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, err := Open(t.Context(), dir, bytes.Repeat([]byte{7}, 32), collect)
		if err != nil {
			t.Fatal(err)
		}
		test(&desk{t, l})
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// do sends a command to a copy, and waits until everything has followed from it.
func (d *desk) do(copy string, c CopyCommand, want error) {
	d.Helper()
	if _, err := d.Copies.Handle(d.Context(), copy, c); !errors.Is(err, want) {
		d.Errorf("%T to %s: %v, want %v", c, copy, err, want)
	}
	time.Sleep(time.Second)
}

// hold places a hold.
func (d *desk) hold(title, member string, want error) {
	d.Helper()
	if _, err := d.Titles.Handle(d.Context(), title, PlaceHold{title, member}); !errors.Is(err, want) {
		d.Errorf("hold of %s for %s: %v, want %v", title, member, err, want)
	}
	time.Sleep(time.Second)
}

// isOffered checks for whom a copy waits.
func (d *desk) isOffered(copy, want string) {
	d.Helper()
	at, err := d.Copies.State(d.Context(), copy)
	if err != nil || at.State.Offer != want {
		d.Errorf("%s waits for %q, %v; want %q", copy, at.State.Offer, err, want)
	}
}

// A copy that comes back waits for the member who has waited longest, for a time, and then for the
// next.
func TestHolds(t *testing.T) {
	inLibrary(t, func(d *desk) {
		d.do("art-1", Acquire{"The Art"}, nil)
		d.do("art-1", Lend{"ada"}, nil)
		d.hold("The Art", "grace", nil)
		d.hold("The Art", "grace", ErrWaiting)
		d.hold("The Art", "edsger", nil)
		d.isOffered("art-1", "")
		d.do("art-1", Return{}, nil)
		d.isOffered("art-1", "grace")
		d.do("art-1", Lend{"ada"}, ErrOffered)
		time.Sleep(collect + 10*time.Second)
		d.isOffered("art-1", "edsger")
		d.do("art-1", Lend{"edsger"}, nil)
		d.do("art-1", Return{}, nil)
		time.Sleep(2 * collect) // the deadline of the offer that was taken
		d.isOffered("art-1", "")
		d.do("art-1", Lend{"ada"}, nil)
	})
}

// An offer that comes too late is refused, and its member is the next one again.
func TestHoldTooLate(t *testing.T) {
	inLibrary(t, func(d *desk) {
		d.do("art-1", Acquire{"The Art"}, nil)
		if _, err := d.Titles.Handle(d.Context(), "The Art", PlaceHold{"The Art", "grace"}); err != nil {
			d.Fatal(err)
		}
		d.do("art-1", Lend{"ada"}, nil) // before the process has seen the hold
		d.do("art-1", Return{}, nil)
		d.isOffered("art-1", "grace")
	})
}

// No two members have one e-mail address, until one of them is forgotten.
func TestMembers(t *testing.T) {
	inLibrary(t, func(d *desk) {
		ctx := d.Context()
		steps := []struct {
			c    Register
			want error
		}{
			{Register{"m1", "Ada", "ada@example.com"}, nil},
			{Register{"m1", "Ada", "other@example.com"}, ErrMember},
			{Register{"m2", "Another", " Ada@Example.com"}, eventstore.ErrReserved},
		}
		for _, s := range steps {
			if err := d.Register(ctx, s.c); !errors.Is(err, s.want) {
				d.Errorf("%+v: %v, want %v", s.c, err, s.want)
			}
		}
		if err := d.Forget(ctx, "m1"); err != nil {
			d.Fatal(err)
		}
		if m, err := d.Members.State(ctx, "m1"); err != nil || m.State.Name != shred.Erased {
			d.Errorf("forgotten: %+v, %v", m.State, err)
		}
		if err := d.Register(ctx, steps[2].c); err != nil {
			d.Errorf("the address is still taken: %v", err)
		}
	})
}

// The page finds titles by the beginnings of words, with the number of free copies.
func TestSearch(t *testing.T) {
	inLibrary(t, func(d *desk) {
		d.do("taocp-1", Acquire{"The Art of Computer Programming"}, nil)
		d.do("taocp-2", Acquire{"The Art of Computer Programming"}, nil)
		d.do("other-1", Acquire{"Another <b>"}, nil)
		d.do("taocp-1", Lend{"ada"}, nil)
		for query, want := range map[string]string{
			"comp+art": "<td>The Art of Computer Programming<td>2<td>1",
			"anoth":    "<td>Another &lt;b&gt;<td>1<td>1",
			"missing":  "No title has words",
			`%22*+OR`:  "No title has words",
			"":         "<h1>Library</h1>",
		} {
			w := httptest.NewRecorder()
			d.ServeHTTP(w, httptest.NewRequestWithContext(d.Context(), "GET", "/?q="+query, nil))
			if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
				d.Errorf("search for %q: %d %s, want %s", query, w.Code, w.Body, want)
			}
		}
	})
}

// The program keeps everything from one start to the next, and says what it needs.
func TestServe(t *testing.T) {
	t.Setenv("LIBRARY_KEY", "short")
	if err := serve(t.Context(), t.TempDir(), "127.0.0.1:0", collect); err == nil || !strings.Contains(err.Error(), "openssl rand") {
		t.Error(err)
	}
	t.Setenv("LIBRARY_KEY", strings.Repeat("0a", 32))
	dir := t.TempDir()
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, stop)
		if err := serve(ctx, dir, "127.0.0.1:0", collect); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}
