package cost

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Book is prices as they were on a day.
type Book struct {
	Date     string            `json:"date"` // of the day on which it was written
	Currency string            `json:"currency"`
	Source   string            `json:"source"`
	Regions  map[string]Prices `json:"regions"` // by name, such as eu-west-1
}

// Prices are those of a Region, in the book's currency.
type Prices struct {
	Name                  string  `json:"name"`
	WriteMillion          float64 `json:"writeMillion"`          // of a million write request units, on demand
	ReadMillion           float64 `json:"readMillion"`           // of a million read request units, on demand
	WriteCapacityHour     float64 `json:"writeCapacityHour"`     // of a write unit a second, provisioned for an hour
	ReadCapacityHour      float64 `json:"readCapacityHour"`      // of a read unit a second, provisioned for an hour
	StorageMonth          float64 `json:"storageMonth"`          // of a GB
	ContinuousBackupMonth float64 `json:"continuousBackupMonth"` // of a GB, for point-in-time recovery
	BackupMonth           float64 `json:"backupMonth"`           // of a GB that a backup holds
	StreamReads100k       float64 `json:"streamReads100k"`       // of 100,000 GetRecords; those of AWS Lambda are free

	Compared []string `json:"compared"` // which of them were compared with a second source when the book was written
}

// ErrRegion is returned for a Region that the book does not have.
var ErrRegion = errors.New("no_such_region")

//go:embed prices.json
var pricesJSON []byte

// book is read once.
var book = sync.OnceValues(func() (*Book, error) {
	b := new(Book)
	if err := json.Unmarshal(pricesJSON, b); err != nil {
		return nil, fmt.Errorf("cost: prices.json: %w", err)
	}
	return b, nil
})

// PriceBook is the book of prices. An error says that it is damaged.
func PriceBook() (*Book, error) { return book() }

// Region is the prices of a Region. Error: ErrRegion.
func (b *Book) Region(name string) (Prices, error) {
	p, ok := b.Regions[name]
	if !ok {
		return Prices{}, fmt.Errorf("%w: the price book of %s has no Region %q; it has %s", ErrRegion, b.Date, name, strings.Join(b.Names(), ", "))
	}
	return p, nil
}

// Names are those of the Regions, sorted.
func (b *Book) Names() []string { return slices.Sorted(maps.Keys(b.Regions)) }
