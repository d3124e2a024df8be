package logimport

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// Read reads files in order and passes their events to an ingester; "-" is stdin. damage joins the
// errors of files that could not be read to their end; the files after them are read too.
func Read(ctx context.Context, ingester Ingester, bar Progress, o Options, stdin io.Reader, files []string) (sum Summary, damage, err error) {
	im, err := New(ingester, bar, o)
	if err != nil {
		return sum, nil, err
	}
	for _, name := range files {
		err := im.File(ctx, name, stdin)
		if damaged := (*DamagedError)(nil); errors.As(err, &damaged) {
			damage = errors.Join(damage, err)
		} else if err != nil {
			return sum, damage, fmt.Errorf("%s: %w", name, err)
		}
	}
	return im.Summary, damage, nil
}

// EnsureSite creates the site in UTC if it does not exist.
func EnsureSite(ctx context.Context, t *table.Table, id string) error {
	_, err := analytics.GetSite(ctx, t, id)
	if !errors.Is(err, table.ErrNotFound) {
		return err
	}
	_, err = analytics.CreateSite(ctx, t, analytics.NewSite{ID: id, TimeZone: "UTC"})
	if errors.Is(err, table.ErrExists) {
		return nil
	}
	return err
}
