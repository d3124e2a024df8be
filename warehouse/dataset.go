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

// Dataset is a kind of facts. Its value is the name of the folder that holds them.
type Dataset string

// The datasets.
const (
	Events       Dataset = "events"        // web analytics events, by site: EventRow
	Readings     Dataset = "readings"      // readings of devices, by fleet, with one row per metric: ReadingRow
	DomainEvents Dataset = "domain_events" // events of the event store, by aggregate type: DomainEventRow
)

// Datasets returns all datasets.
func Datasets() []Dataset { return []Dataset{Events, Readings, DomainEvents} }

// Column returns the name of the dataset's partition key: site, fleet or type.
func (d Dataset) Column() string {
	return map[Dataset]string{Events: "site", Readings: "fleet", DomainEvents: "type"}[d]
}

// Partition is a folder of files. It holds the facts of one site, fleet or type for one day.
type Partition struct {
	Dataset Dataset
	Key     string // the site, fleet or aggregate type
	Date    string // UTC day of the facts' times, as YYYY-MM-DD
}

// PartitionOf returns the partition of a fact, given its time in epoch milliseconds.
func PartitionOf(d Dataset, key string, at int64) Partition {
	return Partition{Dataset: d, Key: key, Date: time.UnixMilli(at).UTC().Format(time.DateOnly)}
}

// Compare orders partitions by dataset, key and date.
func (p Partition) Compare(o Partition) int {
	return cmp.Or(cmp.Compare(p.Dataset, o.Dataset), cmp.Compare(p.Key, o.Key), cmp.Compare(p.Date, o.Date))
}

// Folder returns the partition's folder, without a trailing slash.
func (p Partition) Folder() string {
	return fmt.Sprintf("%s/%s=%s/date=%s", p.Dataset, p.Dataset.Column(), escape(p.Key), p.Date)
}

// PathKey returns the key as it is written in paths.
func (p Partition) PathKey() string { return escape(p.Key) }

// escape writes a value so that it is a valid folder name on every system: everything except ASCII
// letters, ASCII digits, "-", "_" and "." is percent-encoded.
func escape(s string) string {
	return strings.NewReplacer("+", "%20", "~", "%7E").Replace(url.QueryEscape(s))
}

// parsePath returns the partition of a file, given its path.
func parsePath(name string) (Partition, error) {
	bad := fmt.Errorf("%w: %q is not a file of a dataset", ErrDamaged, name)
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
