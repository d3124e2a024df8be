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

// Book contains prices as of a date.
type Book struct {
	Date     string            `json:"date"` // when the book was written
	Currency string            `json:"currency"`
	Source   string            `json:"source"`
	Regions  map[string]Prices `json:"regions"` // by name, such as eu-west-1
}

// Prices are the prices of a Region, in the book's currency.
type Prices struct {
	Name                  string  `json:"name"`
	WriteMillion          float64 `json:"writeMillion"`          // per million on-demand write request units
	ReadMillion           float64 `json:"readMillion"`           // per million on-demand read request units
	WriteCapacityHour     float64 `json:"writeCapacityHour"`     // per hour, for one write unit per second
	ReadCapacityHour      float64 `json:"readCapacityHour"`      // per hour, for one read unit per second
	StorageMonth          float64 `json:"storageMonth"`          // per GB
	ContinuousBackupMonth float64 `json:"continuousBackupMonth"` // per GB, for point-in-time recovery
	BackupMonth           float64 `json:"backupMonth"`           // per GB of a backup
	StreamReads100k       float64 `json:"streamReads100k"`       // per 100,000 GetRecords calls; those of AWS Lambda are free

	// Other services. A price that is missing in the book is 0 or has no tiers.
	LambdaMillion   float64 `json:"lambdaMillion"`   // per million requests
	LambdaGBSecond  Tiers   `json:"lambdaGBSecond"`  // per GB-second on Arm
	FargateVCPUHour float64 `json:"fargateVCPUHour"` // per vCPU and hour on Arm, Linux
	FargateGBHour   float64 `json:"fargateGBHour"`   // per GB of memory and hour on Arm, Linux
	LogsGB          float64 `json:"logsGB"`          // per GB that CloudWatch Logs ingests
	TransferGB      Tiers   `json:"transferGB"`      // per GB sent to the internet
	InsightsRule    float64 `json:"insightsRule"`    // per rule of Contributor Insights
	InsightsMillion float64 `json:"insightsMillion"` // per million requests that its rules count

	Compared []string `json:"compared"` // prices that were checked against a second source when the book was written
}

// Tiers are prices of a quantity a month, cheaper for the part above each limit. The limits rise.
type Tiers []Tier

// Tier is the price of what is above a limit, up to the next tier. What is below the first one is free.
type Tier struct {
	Above float64 `json:"above"`
	Price float64 `json:"price"`
}

// of returns the price of a quantity.
func (t Tiers) of(quantity float64) float64 {
	sum := 0.0
	for i, tier := range t {
		top := quantity
		if i+1 < len(t) {
			top = min(quantity, t[i+1].Above)
		}
		sum += max(0, top-tier.Above) * tier.Price
	}
	return sum
}

// ErrRegion is returned for a Region that is not in the book.
var ErrRegion = errors.New("no_such_region")

//go:embed prices.json
var pricesJSON []byte

// book parses the embedded prices once.
var book = sync.OnceValues(func() (*Book, error) {
	b := new(Book)
	if err := json.Unmarshal(pricesJSON, b); err != nil {
		return nil, fmt.Errorf("cost: prices.json: %w", err)
	}
	return b, nil
})

// PriceBook returns the price book. An error means that it is damaged.
func PriceBook() (*Book, error) { return book() }

// Region returns the prices of a Region. Errors: ErrRegion.
func (b *Book) Region(name string) (Prices, error) {
	p, ok := b.Regions[name]
	if !ok {
		return Prices{}, fmt.Errorf("%w: the price book of %s has no Region %q; it has %s", ErrRegion, b.Date, name, strings.Join(b.Names(), ", "))
	}
	return p, nil
}

// Names returns the names of the Regions, sorted.
func (b *Book) Names() []string { return slices.Sorted(maps.Keys(b.Regions)) }
