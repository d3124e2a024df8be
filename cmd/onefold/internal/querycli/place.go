package querycli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/warehouse"
)

// place is the queried warehouse.
type place struct {
	objects warehouse.Objects
	w       *warehouse.Warehouse
	root    string // directory of a local warehouse
	cache   *cache // copies of files of a remote warehouse
}

// ErrNoWarehouse is returned if there is no warehouse, or nothing was exported to it.
var ErrNoWarehouse = errors.New("no_warehouse")

func (c *Query) open(ctx context.Context, e *Env) (*place, error) {
	url := cmp.Or(c.Warehouse, e.Beside)
	remote := strings.Contains(url, "://")
	if info, err := os.Stat(url); !remote && (err != nil || !info.IsDir()) {
		return nil, fmt.Errorf("%w: there is no warehouse in %s; create one with `onefold warehouse export`, or give its location with --warehouse", ErrNoWarehouse, url)
	}
	objects, err := e.Objects(ctx, url)
	if err != nil {
		return nil, err
	}
	p := &place{objects: objects}
	if dir, ok := objects.(*warehouse.Dir); ok {
		p.root = dir.Root()
	} else if p.cache, err = openCache(url, int64(c.Cache)<<20); err != nil {
		return nil, err
	}
	if p.w, err = warehouse.Open(ctx, objects, warehouse.Options{}); err != nil {
		return nil, err
	}
	if p.w.Version() == 0 {
		return nil, fmt.Errorf("%w: nothing has been exported to %s yet; run `onefold warehouse export`", ErrNoWarehouse, url)
	}
	return p, nil
}

// files returns local paths of the files that the warehouse's log lists and the flags select.
func (p *place) files(ctx context.Context, c *Query) (events, readings, domain []string, err error) {
	if err := p.w.Refresh(ctx); err != nil {
		return nil, nil, nil, err
	}
	lists := map[warehouse.Dataset]*[]string{warehouse.Events: &events, warehouse.Readings: &readings, warehouse.DomainEvents: &domain}
	var chosen []warehouse.File
	for _, f := range p.w.Files() {
		if lists[f.Partition.Dataset] != nil && c.wants(f) {
			chosen = append(chosen, f)
		}
	}
	if p.cache != nil {
		if err := p.cache.room(chosen); err != nil {
			return nil, nil, nil, err
		}
	}
	for _, f := range chosen {
		path := filepath.Join(p.root, filepath.FromSlash(f.Path))
		if p.cache != nil {
			if path, err = p.cache.file(ctx, p.objects, f); err != nil {
				if errors.Is(err, warehouse.ErrNotFound) {
					err = errMoved
				}
				return nil, nil, nil, err
			}
		}
		list := lists[f.Partition.Dataset]
		*list = append(*list, path)
	}
	return events, readings, domain, nil
}

// wants reports whether a file may have rows that the flags select. Files are partitioned by UTC
// day, and the days of a site begin and end up to a day before or after those in UTC.
func (c *Query) wants(f warehouse.File) bool {
	keys, slack := c.Site, 1
	switch f.Partition.Dataset {
	case warehouse.Readings:
		keys, slack = c.Fleet, 0
	case warehouse.DomainEvents:
		keys, slack = c.Type, 0
	}
	if len(keys) > 0 && !slices.Contains(keys, f.Partition.Key) {
		return false
	}
	return (c.From == "" || f.Partition.Date >= shift(c.From, -slack)) && (c.To == "" || f.Partition.Date <= shift(c.To, slack))
}

// shift adds days to a day.
func shift(day string, by int) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day // rejected by Validate
	}
	return at.AddDate(0, 0, by).Format(time.DateOnly)
}

func (p *place) close() {
	if p.cache != nil {
		p.cache.trim()
	}
}

// cacheFolder returns the directory for copies of a warehouse's files.
func cacheFolder(url string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no_cache: %w", err)
	}
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(dir, "onefold", "warehouse", hex.EncodeToString(sum[:8])), nil
}
