// Package backups stores dated backups of a table in a directory or a bucket. Backups are
// compressed, optionally encrypted, made on a schedule, and deleted when there are enough newer
// ones. A backup gets its name only when it is complete.
package backups

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"time"
)

// Name is the parsed name of a backup, such as onefold-20260512T100000Z-1a2b3c4d.tar.zst, with .age
// appended if it is encrypted. The names of a table's backups sort by time.
type Name struct {
	Time      time.Time // UTC, in seconds; the backup contains everything acknowledged before
	Table     string    // of the table, see TableID
	Encrypted bool
}

const (
	timeForm  = "20060102T150405Z"
	encrypted = ".age"
)

var nameForm = regexp.MustCompile(`^onefold-(\d{8}T\d{6}Z)-([0-9a-f]{8})\.tar\.zst(\.age)?$`)

// String returns the name.
func (n Name) String() string {
	s := "onefold-" + n.Time.UTC().Format(timeForm) + "-" + n.Table + ".tar.zst"
	if n.Encrypted {
		s += encrypted
	}
	return s
}

// ParseName parses a name. It returns false if the name is not that of a backup.
func ParseName(s string) (Name, bool) {
	m := nameForm.FindStringSubmatch(s)
	if m == nil {
		return Name{}, false
	}
	at, err := time.Parse(timeForm, m[1])
	return Name{Time: at, Table: m[2], Encrypted: m[3] != ""}, err == nil
}

// TableID shortens a table's ID to eight hexadecimal digits. A restored table keeps the ID of the
// table that was backed up.
func TableID(id string) string {
	const digits = 8
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:digits]
}
