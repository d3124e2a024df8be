package glob

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"/", "/", true}, {"/", "/a", false}, {"", "", true}, {"", "/", false},
		{"/blog/*", "/blog/a", true}, {"/blog/*", "/blog/a/b", false}, {"/blog/*", "/blog/", true}, {"/blog/*", "/blog", false},
		{"/blog/**", "/blog/a/b", true}, {"/blog**", "/blog", true}, {"**/thanks", "/a/b/thanks", true}, {"**", "", true},
		{"/*/edit", "/post/edit", true}, {"/*/edit", "/a/b/edit", false}, {"/a*c*e", "/abcde", true}, {"/a***", "/a/b", true},
		{"/.+", "/ab", false}, {"/(a", "/(a", true}, {"/é*", "/éa", true},
	} {
		if got := Match(c.pattern, c.text); got != c.want {
			t.Errorf("%q on %q: %v", c.pattern, c.text, got)
		}
	}
}

// TestAgainstRegexp compares Match with an equivalent regular expression.
func TestAgainstRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.SampledFrom([]rune("ab/**")), 0, 10, -1).Draw(t, "pattern")
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab/")), 0, 12, -1).Draw(t, "text")
		var expression strings.Builder
		for rest := pattern; rest != ""; {
			trimmed := strings.TrimLeft(rest, "*")
			switch stars := len(rest) - len(trimmed); stars {
			case 0:
				expression.WriteString(regexp.QuoteMeta(rest[:1]))
				trimmed = rest[1:]
			case 1:
				expression.WriteString("[^/]*")
			default:
				expression.WriteString(".*")
			}
			rest = trimmed
		}
		if got, want := Match(pattern, text), regexp.MustCompile("^"+expression.String()+"$").MatchString(text); got != want {
			t.Fatalf("%q on %q: %v, want %v", pattern, text, got, want)
		}
	})
}

// TestAHostilePatternTakesNoLonger would not finish if matching backtracked for every star.
func TestAHostilePatternTakesNoLonger(t *testing.T) {
	if Match(strings.Repeat("**a", 100)+"b", strings.Repeat("a", 2000)) {
		t.Error("it does not match")
	}
}
