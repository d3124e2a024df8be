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
	}{
		{"", eventstore.Options{}, nil},
		{", with a commit ID", eventstore.Options{}, []eventstore.AppendOption{eventstore.CommitID("c")}},
		{", in put mode", eventstore.Options{PutMode: true}, nil},
	} {
		for _, n := range []int{1, 3, 10} {
			var units float64
			err := b.on(ctx, filepath.Join(dir, fmt.Sprintf("%d-%d", i, n)), way.o, func(s *opened) error {
				id := eventstore.ID{Type: "bench", ID: "units"}
				if _, err := s.events.Append(ctx, id, eventstore.NoStream(), some(1)); err != nil {
					return err
				}
				before := s.WriteUnits().Total()
				appends, each := 1, n
				if way.o.PutMode {
					appends, each = n, 1
				}
				for j := range appends {
					if _, err := s.events.Append(ctx, id, eventstore.Exact(int64(1+j)), some(each), way.options...); err != nil {
						return err
					}
				}
				units = s.WriteUnits().Total() - before
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
