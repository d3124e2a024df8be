package querycli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/warehouse"
)

// cache holds copies of a remote warehouse's files. Files never change, so a copy never becomes
// stale. When the cache is full, the least recently used copies are deleted.
type cache struct {
	dir  string
	most int64 // bytes
}

// inUse is the time for which a used copy is not deleted, because another process may be reading
// it.
const inUse = time.Hour

func openCache(url string, most int64) (*cache, error) {
	dir, err := cacheFolder(url)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("no_cache: %w", err)
	}
	return &cache{dir: dir, most: most}, nil
}

// room returns an error if a query needs more files than fit into the cache.
func (c *cache) room(files []warehouse.File) error {
	var bytes int64
	for _, f := range files {
		bytes += f.Bytes
	}
	if bytes > c.most {
		return fmt.Errorf("too_large: the query needs %s of %d MB, but the cache holds %d MB: narrow the query with --site, --from and --to, or enlarge the cache with --cache",
			terminal.Count(len(files), "file"), bytes>>20, c.most>>20)
	}
	return nil
}

// file returns the path of a file's copy, and creates it if missing. Errors: warehouse.ErrNotFound,
// warehouse.ErrDamaged.
func (c *cache) file(ctx context.Context, objects warehouse.Objects, f warehouse.File) (string, error) {
	path := filepath.Join(c.dir, filepath.FromSlash(f.Path))
	if info, err := os.Stat(path); err == nil && info.Size() == f.Bytes {
		// The modification time records the last use.
		now := time.Now()
		return path, os.Chtimes(path, now, now)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("no_cache: %w", err)
	}
	return path, c.fetch(ctx, objects, f, path)
}

func (c *cache) fetch(ctx context.Context, objects warehouse.Objects, f warehouse.File, path string) (err error) {
	object, err := objects.Open(ctx, f.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	// The rename is atomic, so other processes see only complete copies with the right checksum.
	temp, err := os.CreateTemp(filepath.Dir(path), ".copy-*")
	if err != nil {
		return fmt.Errorf("no_cache: %w", err)
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(temp, sum), io.NewSectionReader(object, 0, object.Size()))
	if err = errors.Join(err, temp.Close(), ctx.Err()); err == nil && hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		err = fmt.Errorf("%w: %s does not have its recorded checksum", warehouse.ErrDamaged, f.Path)
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp.Name()))
	}
	return nil
}

// trim deletes the least recently used copies until the rest fits. A copy that cannot be deleted
// stays until the next time.
func (c *cache) trim() {
	type copied struct {
		path string
		size int64
		used time.Time
	}
	var all []copied
	var bytes int64
	err := filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all = append(all, copied{path, info.Size(), info.ModTime()})
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		return // deleted by another process
	}
	slices.SortFunc(all, func(a, b copied) int { return cmp.Compare(a.used.UnixNano(), b.used.UnixNano()) })
	for _, f := range all {
		if bytes <= c.most || time.Since(f.used) < inUse {
			return
		}
		if os.Remove(f.path) == nil {
			bytes -= f.size
		}
	}
}
