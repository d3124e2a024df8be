package redact_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/internal/redact"
)

func TestNames(t *testing.T) {
	keys := redact.New(map[string]int{"SITE": 3, "AGGREGATE": 1})
	hash := regexp.MustCompile(`~[0-9a-f]{12}$`)
	longest := "SITE#" + strings.Repeat("x", 64) + "#SHARD#255"
	for key, want := range map[string]string{
		"SITE#blog#SHARD#3": "SITE#blog#SHARD#3", "SITE#blog": "SITE#blog", longest: longest, "FEED": "FEED", "DEVICE_STATUS": "DEVICE_STATUS",
		"SITE#blog#SHARD#3#ann": "SITE#blog#SHARD#3#~", "AGGREGATE#account#ann@example.org": "AGGREGATE#account#~", "USER#ann": "USER#~",
		"USER#": "USER#~", "USER##": "USER#~", "ann@example.org": "~", "Ann": "~", "#ann": "~", "": "~", "\x00": "~", "~": "~",
		"SITE#" + strings.Repeat("x", 1000): "~", strings.Repeat("X", 1000): "~",
	} {
		if got := hash.ReplaceAllString(keys.Name(key), "~"); got != want {
			t.Errorf("%.40q is %q, want %q", key, got, want)
		}
	}
	if a, b := redact.New(nil).Name("USER#ann"), redact.New(nil).Name("USER#ann"); a == b {
		t.Error("the hash is the same in every process: whoever knows names finds them by trying")
	}
}

// For any key, as much of it is shown as specified, the same key has the same name, and other keys
// have other names.
func TestNothingElseIsSeen(t *testing.T) {
	keys := redact.New(map[string]int{"A": 1})
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringN(0, 8, -1)
		first, open, hidden := rapid.SampledFrom([]string{"A", "B", "a", ""}).Draw(t, "first"), word.Draw(t, "open"), word.Draw(t, "hidden")
		open, hidden = strings.ReplaceAll(open, "#", ""), strings.ReplaceAll(hidden, "#", "")
		key := first + "#" + open + "#" + hidden
		name := keys.Name(key)
		var want string
		switch first {
		case "A":
			want = "A#" + open + "#~"
		case "B":
			want = "B#~"
		default:
			want = "~"
		}
		if len(name) != len(want)+12 || !strings.HasPrefix(name, want) {
			t.Errorf("%q is %q", key, name)
		}
		if keys.Name(key) != name || keys.Name(key+"x") == name {
			t.Errorf("%q: %q and %q", key, keys.Name(key), keys.Name(key+"x"))
		}
	})
}
