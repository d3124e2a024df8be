package fold

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// each calls f for 0 to n-1, at most limit at a time. After the first error it starts no further
// calls. With a limit of 1 everything runs in the calling goroutine.
func each(limit, n int, f func(i int) error) error {
	if limit <= 1 || n <= 1 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	g, failed := errgroup.WithContext(context.Background())
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error {
			if failed.Err() != nil {
				return nil
			}
			return f(i)
		})
	}
	return g.Wait()
}
