package infra

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/onefold/onefold/table"
)

// ErrOptions is returned for options that are out of range or contradictory.
var ErrOptions = errors.New("infra: options")

// Options configure a stack. The zero value is an on-demand table with protection, backups and
// alarms.
type Options struct {
	TableName string // default: the schema's name

	// Provisioned uses provisioned capacity with auto scaling instead of on-demand billing.
	Provisioned bool
	// Read and Write limit capacity, in units per second. On-demand, Max is the table's maximum; 0:
	// none. Provisioned capacity stays between Min (default 5) and Max (default 100).
	Read, Write Bounds

	// Functions adds the functions that fold the table's changes and run scheduled work, with their
	// roles.
	Functions bool
	// Shifts makes the folding function read the stream itself, in consecutive runs of 15 minutes,
	// instead of receiving batches. Changes on hold are then written once, which saves writes but
	// costs running time. It requires Functions.
	Shifts bool
	// Ingest adds a function that accepts facts over HTTP. It requires Functions.
	Ingest Ingest
	// AlarmTopic is the ARN of the SNS topic for alarms. Default: none; alarms are only displayed.
	AlarmTopic string

	// Indexes are the table's indexes in an intermediate stage: see Stages. Default: those of the
	// schema.
	Indexes []string

	// Sources are the entities whose changes are folded, for filtering the stream. Default: all
	// entities.
	Sources []string
}

// Bounds are a minimum and a maximum.
type Bounds struct{ Min, Max int }

// Ingest is the way in which facts arrive.
type Ingest string

// The values of Ingest.
const (
	NoIngest    Ingest = ""
	FunctionURL Ingest = "function-url"
	HTTPAPI     Ingest = "http-api"
)

// tableName matches table names allowed by DynamoDB.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

var indexName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,200}$`)

const (
	maxUnits       = 40_000 // default quota of a table
	defaultMinimum = 5
	defaultMaximum = 100
)

func (o *Options) complete(s *table.Schema) error {
	if o.TableName == "" {
		o.TableName = strings.ReplaceAll(s.Name(), "/", "-")
	}
	if !tableName.MatchString(o.TableName) {
		return fmt.Errorf("%w: a table name has 3 to 255 letters, digits, dots, dashes and underscores, unlike %q", ErrOptions, o.TableName)
	}
	switch o.Ingest {
	case NoIngest:
	case FunctionURL, HTTPAPI:
		if !o.Functions {
			return fmt.Errorf("%w: Ingest needs Functions", ErrOptions)
		}
	default:
		return fmt.Errorf("%w: Ingest is %q: use function-url or http-api", ErrOptions, o.Ingest)
	}
	if o.Shifts && !o.Functions {
		return fmt.Errorf("%w: Shifts needs Functions", ErrOptions)
	}
	if o.AlarmTopic != "" && !strings.HasPrefix(o.AlarmTopic, "arn:") {
		return fmt.Errorf("%w: AlarmTopic is %q: use the ARN of an SNS topic", ErrOptions, o.AlarmTopic)
	}
	if o.Indexes == nil {
		o.Indexes = s.Indexes()
	}
	if i := slices.IndexFunc(o.Indexes, func(name string) bool { return !indexName.MatchString(name) }); i >= 0 {
		return fmt.Errorf("%w: index %q: a name has 3 to 200 letters, digits, dots, dashes and underscores", ErrOptions, o.Indexes[i])
	}
	if len(o.Sources) == 0 {
		for _, e := range s.Entities() {
			o.Sources = append(o.Sources, e.Name)
		}
	}
	return errors.Join(o.Read.complete("Read", o.Provisioned), o.Write.complete("Write", o.Provisioned), o.checkRoles(s))
}

func (b *Bounds) complete(what string, provisioned bool) error {
	if provisioned && b.Min == 0 {
		b.Min = defaultMinimum
	}
	if provisioned && b.Max == 0 {
		b.Max = max(defaultMaximum, b.Min)
	}
	switch {
	case b.Min < 0 || b.Max < 0 || b.Max > maxUnits:
		return fmt.Errorf("%w: %s is %d to %d: use 0 to %d units per second", ErrOptions, what, b.Min, b.Max, maxUnits)
	case b.Max > 0 && b.Min > b.Max:
		return fmt.Errorf("%w: %s has a minimum of %d and a maximum of %d", ErrOptions, what, b.Min, b.Max)
	case !provisioned && b.Min > 0:
		return fmt.Errorf("%w: %s has a minimum, which needs provisioned capacity", ErrOptions, what)
	}
	return nil
}
