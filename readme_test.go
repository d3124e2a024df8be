package onefold_test

import (
	"cmp"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestMissedGoalsAreMarked checks the goals in the tables of README and docs/measured.md. A goal
// follows its figure, as in "400 to 500/s (goal 600, **missed**)", and is marked when it is missed.
// Goals for time, memory and write units are met by a figure that is at most as large, other goals
// by one that is at least as large.
func TestMissedGoalsAreMarked(t *testing.T) {
	var text []byte
	for _, file := range []string{"README.md", "docs/measured.md"} {
		read, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, read...)
	}
	figure := regexp.MustCompile(`([\d.,]*\d)(?: to ([\d.,]*\d))?(?:/s| ms| µs| MB)? \(goal ([\d.,]*\d)(, \*\*missed\*\*)?\)`)
	read := func(s string) float64 {
		n, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	found := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		goals := figure.FindAllStringSubmatch(line, -1)
		if len(goals) != strings.Count(line, "(goal ") {
			t.Errorf("a goal does not stand after its figure: %s", line)
		}
		less := strings.Contains(line, "write units") || strings.Contains(line, " ms (goal") || strings.Contains(line, " µs (goal") || strings.Contains(line, " MB (goal")
		for _, g := range goals {
			found++
			at, best := read(g[1]), read(cmp.Or(g[2], g[1]))
			if less {
				best = at
			}
			if missed := less && best > read(g[3]) || !less && best < read(g[3]); missed != (g[4] != "") {
				t.Errorf("%s: is the goal missed: %v", g[0], missed)
			}
		}
	}
	if found < 8 {
		t.Errorf("%d goals were found", found)
	}
}
