package terminal

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"60d": 60 * day, "2w": 14 * day, "1w2d3h4m5s": 9*day + 3*time.Hour + 4*time.Minute + 5*time.Second, "1d12h": 36 * time.Hour, "0d": 0, "0": 0,
		"-1d": -day, "+2h": 2 * time.Hour, "1.5h": 90 * time.Minute, "90m": 90 * time.Minute,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "5", "1d2", "2d1w", "1.5d", "--1d", "-", "1h2d", "99999999999w", "106751d24h", "1d-2h", "60 d", "d60", "1dd"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for r := rand.New(rand.NewPCG(seed, 0)); !t.Failed() && r.IntN(1000) > 0; { // every duration that Go prints is parsed as Go parses it
		want := time.Duration(r.Int64()) >> r.IntN(60)
		if got, err := ParseDuration(want.String()); err != nil || got != want {
			t.Errorf("%s: %s, %v", want, got, err)
		}
	}
}
