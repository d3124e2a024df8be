package texts

import (
	"maps"
	"testing"
)

func TestClip(t *testing.T) {
	for _, tc := range []struct {
		s    string
		n    int
		want string
	}{{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aé", 2, "a"}, {"é", 1, ""}, {"\xff", 3, "\uFFFD"}, {"\xff\xff", 2, ""}, {"ab", 0, ""}} {
		if got := Clip(tc.s, tc.n); got != tc.want {
			t.Errorf("%q to %d: %q, want %q", tc.s, tc.n, got, tc.want)
		}
	}
}

func TestValidMap(t *testing.T) {
	if got := ValidMap(map[string]string{"a": "\xff", "b\xff": "c"}); !maps.Equal(got, map[string]string{"a": "\uFFFD", "b\uFFFD": "c"}) {
		t.Error(got)
	}
	if ValidMap(nil) != nil {
		t.Error("no map becomes one")
	}
}

func TestHasControls(t *testing.T) {
	for s, want := range map[string]bool{"": false, "/a b": false, "/a\tb": true, "/\x7f": true, "/ü": false} {
		if HasControls(s) != want {
			t.Errorf("%q", s)
		}
	}
}

func TestWebAddress(t *testing.T) {
	for s, want := range map[string]bool{"/a": true, "": true, "/a:b": true, "https://example.com/a:b": true, "APP://x": true, "javascript:alert(1)": false, "data:text/html,x": false, "a?b:c": true} {
		if WebAddress(s) != want {
			t.Errorf("%q", s)
		}
	}
}
