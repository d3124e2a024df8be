package storeurl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

// ErrNoTable is returned if the table does not exist but must.
var ErrNoTable = errors.New("no_table")

// OpenEngine opens the database in a directory, and creates it unless existing is set.
func OpenEngine(dir string, o engine.Options, existing bool) (*engine.DB, error) {
	if err := checkDirectory(dir, existing); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	db, err := engine.Open(dir, o)
	switch {
	case errors.Is(err, engine.ErrInUse):
		return nil, fmt.Errorf("in_use: %s is open in another process; choose another directory with --data, or stop that process (%w)", dir, err)
	case errors.Is(err, engine.ErrBackup):
		return nil, fmt.Errorf("is_backup: %s is a backup, which opening would change, or an incomplete restore; create a database from a backup with `onefold dynamodb restore %[1]s DIR` (%w)", dir, err)
	case errors.Is(err, syscall.ENOSPC), dynamo.IsFull(err):
		return nil, fmt.Errorf("disk_full: the disk of %s is nearly full: free space, enlarge the disk, or lower --disk-reserve (%w)", dir, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("no_access: no permission to write to %s (%w)", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return db, nil
}

// checkDirectory returns an error for a directory of other files, and, if existing is set, for one
// without a table.
func checkDirectory(dir string, existing bool) error {
	tables, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	if len(tables) > 0 {
		return nil
	}
	if existing {
		return fmt.Errorf("%w: there is no table in %s; give its directory with --data, or create a table with site create, import or serve", ErrNoTable, dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("not_a_table: %s holds other files; choose an empty directory, or an existing table", dir)
	}
	return nil
}
