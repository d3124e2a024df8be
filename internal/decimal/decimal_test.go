package decimal

import (
	"cmp"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "0": "", "0.00": "", "1.50": "1.5", "-0.5": "-0.5", "007": "7", ".5": "0.5", "5.": "5", "+3": "3",
		"999999999999999.999999": "999999999999999.999999", "100": "100",
	} {
		if got, err := Parse(in); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"1e5", "NaN", "Infinity", "-", ".", "1,5", "--1", "1.2.3", strings.Repeat("9", 16), "0.0000001", " 1"} {
		if got, err := Parse(in); err == nil {
			t.Errorf("%q is %q, want an error", in, got)
		}
	}
}

func TestAdd(t *testing.T) {
	if got := Add("0.1", "0.2"); got != "0.3" {
		t.Errorf("0.1 + 0.2 = %s", got)
	}
	if got := Add("12.5", "-12.5"); got != "" {
		t.Errorf("12.5 - 12.5 = %q", got)
	}
}

func TestCompare(t *testing.T) {
	order := []string{"-10.5", "-2", "", "0.1", "9", "10", "10.01"}
	for i, a := range order {
		for j, b := range order {
			if got := Compare(a, b); got != cmp.Compare(i, j) {
				t.Errorf("Compare(%q, %q) = %d", a, b, got)
			}
		}
	}
}
