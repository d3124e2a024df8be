package workbench

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
)

// Setup configures a benchmark. All but Only and CPUProfile are required.
type Setup struct {
	Program string // onefold, which is started: a path, or a name to look up in PATH
	Dir     string // directory for tables; must exist
	Only    *regexp.Regexp

	CPUProfile string // path of CPU profiles, with a benchmark's name inserted before the extension

	Open     Open
	Progress func(doing string)
}

// Measure is a benchmark, run on a table in its own directory, which does not exist yet.
type Measure struct {
	Name string
	Take func(ctx context.Context, dir string) ([]Result, error)
}

// Take runs the selected benchmarks and calls report with their results.
func (s *Setup) Take(ctx context.Context, measures []Measure, report func(Result)) error {
	for _, m := range measures {
		if s.Only != nil && !s.Only.MatchString(m.Name) {
			continue
		}
		s.Progress(m.Name)
		results, err := m.Take(ctx, filepath.Join(s.Dir, m.Name))
		for _, r := range results { // including the results before a failure
			report(r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}
