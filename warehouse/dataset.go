package warehouse

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// Dataset is a kind of facts: the folder that they are in.
type Dataset string

// The datasets.
const (
	Events       Dataset = "events"        // of web analytics, by site: EventRow
	Readings     Dataset = "readings"      // of devices, by fleet, a row a metric: ReadingRow
	DomainEvents Dataset = "domain_events" // of the event store, by type: DomainEventRow
)

// Datasets are all of them.
func Datasets() []Dataset { return []Dataset{Events, Readings, DomainEvents} }

// Column is what a dataset's first folders are named by: site, fleet or type.
func (d Dataset) Column() string {
	return map[Dataset]string{Events: "site", Readings: "fleet", DomainEvents: "type"}[d]
}

// Partition is a folder of files: the facts of one site, fleet or type, and of one day.
type Partition struct {
	Dataset Dataset
	Key     string // the site, fleet or type
	Date    string // UTC, of the facts' times, YYYY-MM-DD
}

// PartitionOf is where a fact of a time is.
func PartitionOf(d Dataset, key string, at int64) Partition {
	return Partition{Dataset: d, Key: key, Date: time.UnixMilli(at).UTC().Format(time.DateOnly)}
}

// Compare orders partitions by dataset, key and date.
func (p Partition) Compare(o Partition) int {
	return cmp.Or(cmp.Compare(p.Dataset, o.Dataset), cmp.Compare(p.Key, o.Key), cmp.Compare(p.Date, o.Date))
}

// Folder is the partition's folder, without a slash at its end.
func (p Partition) Folder() string {
	return fmt.Sprintf("%s/%s=%s/date=%s", p.Dataset, p.Dataset.Column(), escape(p.Key), p.Date)
}

// PathKey is the key as it is in paths.
func (p Partition) PathKey() string { return escape(p.Key) }

// escape writes a value so that it is a name of a folder everywhere: all but letters and digits of ASCII, "-", "_" and "."
// is percent-encoded.
func escape(s string) string {
	return strings.NewReplacer("+", "%20", "~", "%7E").Replace(url.QueryEscape(s))
}

// parsePath says in which partition a file is, by its path.
func parsePath(name string) (Partition, error) {
	bad := fmt.Errorf("%w: %q is no file of a dataset", ErrDamaged, name)
	parts := strings.Split(name, "/")
	if len(parts) != 4 || path.Clean(name) != name || !strings.HasSuffix(name, extension) {
		return Partition{}, bad
	}
	p := Partition{Dataset: Dataset(parts[0])}
	key, ok := strings.CutPrefix(parts[1], p.Dataset.Column()+"=")
	if !ok || !slices.Contains(Datasets(), p.Dataset) {
		return Partition{}, bad
	}
	var err error
	if p.Key, err = url.PathUnescape(key); err != nil {
		return Partition{}, bad
	}
	p.Date = strings.TrimPrefix(parts[2], "date=")
	if _, err := time.Parse(time.DateOnly, p.Date); err != nil || p.Folder() != path.Dir(name) {
		return Partition{}, bad
	}
	return p, nil
}
