package workbench

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
)

// Setup is what every benchmark of a product has. All but Only and CPUProfile are required.
type Setup struct {
	Program string // onefold itself, whose serve is measured
	Dir     string // where tables are made; must exist
	Only    *regexp.Regexp

	CPUProfile string // where processor profiles go, with a measure's name before the extension

	Open     Open
	Progress func(doing string)
}

// Measure is one thing that can be measured, on a table in a directory of its own, which is not there yet.
type Measure struct {
	Name string
	Take func(ctx context.Context, dir string) ([]Result, error)
}

// Take takes the measures that are wanted, and hands their results to report.
func (s *Setup) Take(ctx context.Context, measures []Measure, report func(Result)) error {
	for _, m := range measures {
		if s.Only != nil && !s.Only.MatchString(m.Name) {
			continue
		}
		s.Progress(m.Name)
		results, err := m.Take(ctx, filepath.Join(s.Dir, m.Name))
		for _, r := range results { // also what there is before it failed
			report(r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}
