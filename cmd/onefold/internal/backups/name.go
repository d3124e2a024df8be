// Package backups keeps dated backups of a table in a directory or a bucket: compressed, encrypted if wanted, made on a schedule, and
// deleted when there are newer ones. A backup has its name when it is whole. It belongs to the command line.
package backups

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"time"
)

// Name is what a backup is called: onefold-20260512T100000Z-1a2b3c4d.tar.zst, with .age at its end when it is encrypted. Names of one
// table are in the order of their times.
type Name struct {
	Time      time.Time // UTC, to the second: all that was acknowledged before it is in the backup
	Table     string    // of the table, see TableID
	Encrypted bool
}

const (
	timeForm  = "20060102T150405Z"
	encrypted = ".age"
)

var nameForm = regexp.MustCompile(`^onefold-(\d{8}T\d{6}Z)-([0-9a-f]{8})\.tar\.zst(\.age)?$`)

// String is the name.
func (n Name) String() string {
	s := "onefold-" + n.Time.UTC().Format(timeForm) + "-" + n.Table + ".tar.zst"
	if n.Encrypted {
		s += encrypted
	}
	return s
}

// ParseName takes a name apart. It reports whether it is one.
func ParseName(s string) (Name, bool) {
	m := nameForm.FindStringSubmatch(s)
	if m == nil {
		return Name{}, false
	}
	at, err := time.Parse(timeForm, m[1])
	return Name{Time: at, Table: m[2], Encrypted: m[3] != ""}, err == nil
}

// TableID makes eight hexadecimal digits of a table's id. A restored table has the id of the one that was backed up.
func TableID(id string) string {
	const digits = 8
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:digits]
}
