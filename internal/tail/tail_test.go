package tail

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var errEnd = errors.New("the writer has ended")

// writer writes to a log like a server and a rotating program: one action each time that the reader
// waits.
type writer struct {
	*testing.T
	random *rand.Rand
	path   string
	f      *os.File
	lines  int    // written so far, with their endings
	open   string // the beginning of a line whose ending was not written yet
	files  int
	clock  time.Time
	ops    int
}

func (w *writer) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *writer) create() {
	if w.f != nil {
		w.must(w.f.Close())
	}
	f, err := os.OpenFile(w.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	w.must(err)
	w.f = f
}

// write adds whole lines, and sometimes the beginning of one.
func (w *writer) write(n int) {
	var b strings.Builder
	for range n {
		text := w.open
		if text == "" {
			text = fmt.Sprintf("line %d", w.lines)
			b.WriteString(text)
		}
		b.WriteString(" end\n")
		w.open = ""
		w.lines++
	}
	if w.random.IntN(3) == 0 && w.open == "" {
		w.open = fmt.Sprintf("line %d", w.lines)
		b.WriteString(w.open)
	}
	_, err := w.f.WriteString(b.String())
	w.must(err)
	w.clock = w.clock.Add(time.Second)
	w.must(os.Chtimes(w.f.Name(), w.clock, w.clock))
}

// finish writes the ending of an unfinished line.
func (w *writer) finish() {
	if w.open != "" {
		_, err := w.f.WriteString(" end\n")
		w.must(err)
		w.open = ""
		w.lines++
	}
}

func (w *writer) rename() {
	w.files++
	w.must(os.Rename(w.path, fmt.Sprintf("%s.%d", w.path, w.files)))
}

// act does one of the things that happen to logs. truncate is allowed while everything written was
// read.
func (w *writer) act(truncate bool) {
	switch w.random.IntN(6) {
	case 0: // renamed, and recreated with the next line; until then, the server writes to the old file
		w.finish()
		w.rename()
		w.clock = w.clock.Add(time.Second)
		w.must(os.Chtimes(fmt.Sprintf("%s.%d", w.path, w.files), w.clock, w.clock))
		w.create()
		w.write(1 + w.random.IntN(3))
	case 1:
		if truncate && w.open == "" {
			w.must(w.f.Truncate(0))
			w.write(w.random.IntN(80))
		}
	default:
		w.write(w.random.IntN(5))
	}
}

// TestFollow writes, rotates and restarts at random: each line is read once.
func TestFollow(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for round := range uint64(60) {
		follow(t, rand.New(rand.NewPCG(seed, round)))
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

func follow(t *testing.T, random *rand.Rand) {
	w := &writer{T: t, random: random, path: filepath.Join(t.TempDir(), "access.log"), clock: time.Unix(1_700_000_000, 0)}
	o := Options{Path: w.path}
	idle, read := 0, map[string]int{}
	o.Wait = func(context.Context) error {
		if idle++; idle%3 != 0 { // the reader checks twice before it switches to another file
			return nil
		}
		switch w.ops++; {
		case w.f == nil:
			w.create()
		case w.ops > 40:
			return errEnd
		case w.ops == 40:
			w.finish()
		default:
			w.act(len(read) == w.lines)
		}
		return nil
	}
	file := Open(o)
	for {
		b, err := file.Next(t.Context())
		if errors.Is(err, errEnd) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.Lost {
			t.Fatal("lost")
		}
		for _, l := range b.Lines {
			if !b.Old {
				read[string(l.Text)]++
			}
		}
		if !b.Old && random.IntN(6) == 0 { // the reader is stopped, and misses some of what happens
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			for range random.IntN(4) {
				w.act(false)
			}
			o.From = b.End
			file = Open(o)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	for n := range w.lines {
		if text := fmt.Sprintf("line %d end", n); read[text] != 1 {
			t.Errorf("%q was read %d times", text, read[text])
		}
	}
	if len(read) != w.lines {
		t.Errorf("%d lines, want %d", len(read), w.lines)
	}
}

// script returns a Wait function that does one thing after another, and then ends.
func script(things ...func()) func(context.Context) error {
	return func(context.Context) error {
		if len(things) == 0 {
			return errEnd
		}
		things[0]()
		things = things[1:]
		return nil
	}
}

func texts(t *testing.T, f *File) (all []string) {
	t.Helper()
	for {
		b, err := f.Next(t.Context())
		if errors.Is(err, errEnd) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range b.Lines {
			text := fmt.Sprintf("%d %.40s", l.Number, l.Text)
			if l.TooLong {
				text += "too long"
			}
			all = append(all, text)
		}
	}
}

func TestLongLinesAndLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	write := func(name, text string) func() {
		return func() {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	nothing := func() {}
	f := Open(Options{Path: path, Wait: script(
		write(path, "a\r\n"+strings.Repeat("x", MaxLine)+"\n"+strings.Repeat("y", 3*MaxLine)+"\nb\nlast"), nothing,
		func() {
			if err := os.Rename(path, path+".1"); err != nil {
				t.Fatal(err)
			}
		}, write(path, ""), nothing, write(path, "c\n"), nothing, nothing, nothing)})
	defer f.Close()
	want := "[1 a 2 " + strings.Repeat("x", 40) + " 3 too long 4 b 5 last 1 c]"
	if got := fmt.Sprint(texts(t, f)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestWhatIsLostIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(path, []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := Open(Options{Path: path, Wait: script(), From: Position{Inode: 1, Offset: 7, Head: 7}})
	defer f.Close()
	b, err := f.Next(t.Context())
	if err != nil || !b.Lost || b.Old || !b.First || len(b.Lines) != 1 {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := Open(Options{Path: filepath.Dir(path), Wait: script()}).Next(t.Context()); err == nil || errors.Is(err, errEnd) {
		t.Errorf("a directory is followed: %v", err)
	}
}
