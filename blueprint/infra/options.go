package infra

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/onefold/onefold/table"
)

// ErrOptions is returned for options that are out of range or do not go together.
var ErrOptions = errors.New("infra: options")

// Options say what a stack has. The zero value is a table that is billed by request, protected, backed up and watched.
type Options struct {
	TableName string // default: the schema's name

	// Provisioned bills by capacity that is kept ready and follows the load, instead of by request.
	Provisioned bool
	// Read and Write bound capacity, in units a second. Billed by request, Max is what the table takes at most, 0: no bound.
	// Provisioned, capacity stays between Min (default 5) and Max (default 100).
	Read, Write Bounds

	// Functions adds those that fold the table's changes and run what is due, and their roles.
	Functions bool
	// Shifts has the function that folds read the stream itself, a quarter of an hour long and then again, in place of getting batches: what
	// waits is then written once, which takes fewer writes, and somebody pays for the time. It needs Functions.
	Shifts bool
	// Ingest adds a function that takes facts in over HTTP. It needs Functions.
	Ingest Ingest
	// AlarmTopic is the ARN of the SNS topic that alarms go to; default: none is told, and the alarms only show.
	AlarmTopic string

	// Indexes are those that the table has in a stage on its way: see Stages. Default: those of the schema.
	Indexes []string

	// Sources are the entities whose changes are folded, to filter the stream; default: all entities.
	Sources []string
}

// Bounds are the least and the most.
type Bounds struct{ Min, Max int }

// Ingest is how facts come in.
type Ingest string

// The ways in.
const (
	NoIngest    Ingest = ""
	FunctionURL Ingest = "function-url"
	HTTPAPI     Ingest = "http-api"
)

// DynamoDB's rule for names of tables.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

var indexName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,200}$`)

const (
	maxUnits       = 40_000 // of a table, unless AWS was asked for more
	defaultMinimum = 5
	defaultMaximum = 100
)

func (o *Options) complete(s *table.Schema) error {
	if o.TableName == "" {
		o.TableName = strings.ReplaceAll(s.Name(), "/", "-")
	}
	if !tableName.MatchString(o.TableName) {
		return fmt.Errorf("%w: a table's name has 3 to 255 letters, digits, dots, dashes and underscores, not %q", ErrOptions, o.TableName)
	}
	switch o.Ingest {
	case NoIngest:
	case FunctionURL, HTTPAPI:
		if !o.Functions {
			return fmt.Errorf("%w: Ingest needs Functions", ErrOptions)
		}
	default:
		return fmt.Errorf("%w: Ingest is %q: function-url or http-api", ErrOptions, o.Ingest)
	}
	if o.Shifts && !o.Functions {
		return fmt.Errorf("%w: Shifts needs Functions", ErrOptions)
	}
	if o.AlarmTopic != "" && !strings.HasPrefix(o.AlarmTopic, "arn:") {
		return fmt.Errorf("%w: AlarmTopic is %q: the ARN of an SNS topic", ErrOptions, o.AlarmTopic)
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
		return fmt.Errorf("%w: %s is %d to %d: 0 to %d units a second", ErrOptions, what, b.Min, b.Max, maxUnits)
	case b.Max > 0 && b.Min > b.Max:
		return fmt.Errorf("%w: %s is at least %d and at most %d", ErrOptions, what, b.Min, b.Max)
	case !provisioned && b.Min > 0:
		return fmt.Errorf("%w: %s has a least, which is for provisioned capacity", ErrOptions, what)
	}
	return nil
}
