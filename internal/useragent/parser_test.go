package useragent

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
)

func newParser(t testing.TB, size int) *Parser {
	t.Helper()
	p, err := New(size)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestParse runs testdata/agents: one user agent per line, one result per line.
func TestParse(t *testing.T) {
	p := newParser(t, 0)
	datadriven.RunTest(t, "testdata/agents", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input + "\n") {
			a := p.Parse(strings.TrimSuffix(line, "\n"))
			switch {
			case a.Bot && a.AICrawler:
				fmt.Fprintf(&out, "AI %q, %s\n", a.BotName, a.BotReason)
			case a.Bot:
				fmt.Fprintf(&out, "bot %q, %s\n", a.BotName, a.BotReason)
			default:
				fmt.Fprintf(&out, "%s %q on %q, %s\n", a.Browser, a.BrowserVersion, a.OS, a.Device)
			}
		}
		return out.String()
	})
}

func TestParseTooLong(t *testing.T) {
	p := newParser(t, 0)
	const chrome = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36 "
	if a := p.Parse(chrome + strings.Repeat("x", MaxLen-len(chrome))); a.Browser != "Chrome" {
		t.Errorf("an agent of %d bytes is %+v, want Chrome", MaxLen, a)
	}
	if a := p.Parse(chrome + strings.Repeat("x", MaxLen+1-len(chrome))); a.BotReason != ReasonAbsurd {
		t.Errorf("an agent of %d bytes is %+v, want it absurd", MaxLen+1, a)
	}
	if a := p.Parse(strings.Repeat("MyVeryOwnThing-", 100)); len(a.BotName) > 64 {
		t.Errorf("a name of %d bytes, want at most 64", len(a.BotName))
	}
}

func TestNewRefusesASize(t *testing.T) {
	if _, err := New(-1); err == nil {
		t.Error("a cache of -1 agents was made")
	}
}

// TestCacheIsInvisible parses the same agents with a cache that is always too small, from several
// goroutines.
func TestCacheIsInvisible(t *testing.T) {
	small, large := newParser(t, 2), newParser(t, 0)
	agents := []string{"curl/8", "", "Feedly/1.0", "Mozilla/5.0 (iPad) AppleWebKit Safari/1 Version/9.1", "Lynx/2.8"}
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			for i := range 500 {
				ua := agents[(i*7+n)%len(agents)]
				if got, want := small.Parse(ua), large.classify(ua); got != want {
					t.Errorf("%q: %+v, want %+v", ua, got, want)
				}
			}
		})
	}
	group.Wait()
}

// TestWordsCanBeMet checks that the scanner can look up every word of the tables.
func TestWordsCanBeMet(t *testing.T) {
	for word := range index() {
		parts := strings.Split(word, " ")
		for _, part := range parts {
			w, rest := cutWord(part)
			if w.name != part || rest != "" || string(lower(nil, part)) != part || len(part) > maxWord {
				t.Errorf("%q can never be met: the scanner makes %q of it", word, w.name)
			}
		}
		if len(parts) > 2 {
			t.Errorf("%q has more than two words", word)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "-", "Mozilla/5.0 (compatible; x@y.z; +http://a/b) Chrome/1.2.3", "MSIE 7.0b; Windows", "a/b/c;d\xff", "OPR/1 Version/"} {
		f.Add(seed)
	}
	p := newParser(f, 0)
	f.Fuzz(func(t *testing.T, ua string) {
		a := p.Parse(ua)
		if again := p.Parse(ua); again != a {
			t.Fatalf("%q: %+v, then %+v", ua, a, again)
		}
		if a.Bot != (a.BotReason != "") || a.Bot != (a.Browser == "") || a.AICrawler != (a.BotReason == ReasonAI) {
			t.Fatalf("%q is half a bot: %+v", ua, a)
		}
		if a.Bot && (a.OS != "" || a.Device != "" || a.BrowserVersion != "") {
			t.Fatalf("%q is a bot with a browser: %+v", ua, a)
		}
		if len(a.BotName) > maxName || !utf8.ValidString(a.BotName) || len(a.BrowserVersion) > 12 {
			t.Fatalf("%q: %+v", ua, a)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	agents := []string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		"Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)",
	}
	p := newParser(b, 0)
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			p.Parse(agents[i%len(agents)])
		}
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			p.classify(agents[i%len(agents)])
		}
	})
}
