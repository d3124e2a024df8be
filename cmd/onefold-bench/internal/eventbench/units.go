package eventbench

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/eventstore"
)

// units measures the write units of appends to an existing stream, of several sizes and in every
// append mode, without the writes of folds.
func (b *bench) units(ctx context.Context, dir string) (all []workbench.Result, err error) {
	for i, way := range []struct {
		name    string
		o       eventstore.Options
		options []eventstore.AppendOption
		appends int
	}{
		{"", eventstore.Options{}, nil, 1},
		{", average of 100", eventstore.Options{}, nil, 100},
		{", with a commit ID", eventstore.Options{}, []eventstore.AppendOption{eventstore.CommitID("c")}, 1},
		{", in put mode", eventstore.Options{PutMode: true}, nil, 1},
		{", in put mode, average of 100", eventstore.Options{PutMode: true}, nil, 100},
	} {
		for _, n := range []int{1, 3, 10} {
			var units float64
			err := b.on(ctx, filepath.Join(dir, fmt.Sprintf("%d-%d", i, n)), way.o, func(s *opened) error {
				id := eventstore.ID{Type: "bench", ID: "units"}
				if _, err := s.events.Append(ctx, id, eventstore.NoStream(), some(1)); err != nil {
					return err
				}
				before := s.WriteUnits().Total()
				for j := range way.appends {
					if _, err := s.events.Append(ctx, id, eventstore.Exact(int64(1+j*n)), some(n), way.options...); err != nil {
						return err
					}
				}
				units = (s.WriteUnits().Total() - before) / float64(way.appends)
				return nil
			})
			if err != nil {
				return nil, err
			}
			all = append(all, workbench.Result{Name: fmt.Sprintf("append %s%s", terminal.Count(n, "event"), way.name), Unit: "write units", Value: units})
		}
	}
	return all, nil
}
