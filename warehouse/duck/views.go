package duck

import (
	_ "embed"
	"iter"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/warehouse"
)

// View is a table that a query sees.
type View struct {
	Name    string
	Meaning string
	Columns []Column
}

// Column is a column of a view or an answer.
type Column struct {
	Name    string
	Type    string // type name of DuckDB
	Meaning string
}

// The definitions of the views. Each is a separate file, in which {files} stands for the Parquet
// files of its dataset, and a line {traits} for the columns of the dimensions that are traits.
var (
	//go:embed events.sql
	eventsSQL string
	//go:embed session_events.sql
	sessionEventsSQL string
	//go:embed sessions.sql
	sessionsSQL string
	//go:embed conversions.sql
	conversionsSQL string
	//go:embed readings.sql
	readingsSQL string
	//go:embed domain_events.sql
	domainEventsSQL string
)

// dataset is a kind of files.
type dataset struct {
	name  string
	hive  string // types of the columns that are in paths
	empty string // the files' columns, for those that files lack
}

// The datasets, as docs/format/warehouse.md defines them. Older files may lack columns.
var (
	ofEvents = dataset{"events", "{'site': VARCHAR, 'date': DATE}", `site VARCHAR, date DATE, time TIMESTAMPTZ, event_id VARCHAR, visitor_id VARCHAR,
		visitor_shard INTEGER, kind VARCHAR, name VARCHAR, path VARCHAR, hostname VARCHAR, session_id VARCHAR, user_id VARCHAR,
		` + traits("$name VARCHAR, ") + `properties VARCHAR, counted VARCHAR, goals VARCHAR, revenue VARCHAR, revenue_value DOUBLE, engaged_ms BIGINT, scroll INTEGER,
		lcp DOUBLE, inp DOUBLE, cls DOUBLE, zone_minutes INTEGER, arrived_at TIMESTAMPTZ, expires_at TIMESTAMPTZ,
		paid VARCHAR, paid_currency VARCHAR, unconverted BOOLEAN`}
	ofReadings = dataset{"readings", "{'fleet': VARCHAR, 'date': DATE}", `fleet VARCHAR, date DATE, time TIMESTAMPTZ, device_id VARCHAR, disc VARCHAR,
		metric VARCHAR, kind VARCHAR, number DOUBLE, text VARCHAR, bool BOOLEAN, decimal VARCHAR, void BOOLEAN, late BOOLEAN, correction BOOLEAN,
		arrived_at TIMESTAMPTZ, zone_minutes INTEGER, expires_at TIMESTAMPTZ`}
	ofDomainEvents = dataset{"domain_events", "{'type': VARCHAR, 'date': DATE}", `type VARCHAR, date DATE, time TIMESTAMPTZ, occurred_at TIMESTAMPTZ,
		event_id VARCHAR, aggregate_type VARCHAR, aggregate_id VARCHAR, seq BIGINT, schema INTEGER, data VARCHAR, "binary" BLOB,
		correlation_id VARCHAR, causation_id VARCHAR, actor VARCHAR, tenant VARCHAR, metadata VARCHAR, tags VARCHAR, commit_id VARCHAR, nth INTEGER, "of" INTEGER`}
)

// traits returns a text for each dimension that is a trait, with its $name and $meaning.
func traits(text string) string {
	var b strings.Builder
	for _, d := range analytics.TraitDefs {
		b.WriteString(strings.NewReplacer("$name", string(d.Name), "$meaning", d.Meaning).Replace(text))
	}
	return b.String()
}

// from returns what a view selects from: only the named files, or, if there are none, an empty
// table with the same columns. A column that a file lacks, because it was written before the column
// was introduced, is NULL. Such files are apart: to read all files by the names of their columns,
// DuckDB would open all of them for every query, even those that a filter excludes.
func (d *dataset) from(files []string, threads int) (string, error) {
	if len(files) == 0 {
		return d.none(), nil
	}
	missing := make([]string, len(files))
	group := new(errgroup.Group)
	group.SetLimit(max(threads, 1))
	for i, f := range files {
		group.Go(func() error {
			columns, err := warehouse.ColumnsOf(f)
			missing[i] = d.missing(columns)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return "", err
	}
	alike := make(map[string][]string) // by what they lack
	for i, f := range files {
		alike[missing[i]] = append(alike[missing[i]], quote(f))
	}
	var parts []string
	for _, lacks := range slices.Sorted(maps.Keys(alike)) {
		parts = append(parts, "SELECT *"+lacks+" FROM read_parquet(["+strings.Join(alike[lacks], ", ")+"], hive_partitioning = true, hive_types_autocast = false, hive_types = "+d.hive+")")
	}
	return "(" + strings.Join(parts, " UNION ALL BY NAME ") + ")", nil
}

// missing returns the expressions for the columns that a file with the given columns lacks, each
// after a comma.
func (d *dataset) missing(columns []string) string {
	var b strings.Builder
	for name, kind := range d.columns() {
		if plain := strings.Trim(name, `"`); !slices.Contains(columns, plain) && !strings.Contains(d.hive, "'"+plain+"'") {
			b.WriteString(", " + null(name, kind))
		}
	}
	return b.String()
}

func (d *dataset) none() string {
	var columns []string
	for name, kind := range d.columns() {
		columns = append(columns, null(name, kind))
	}
	return "(SELECT " + strings.Join(columns, ", ") + " WHERE false)"
}

// columns yields the names and types of the dataset's columns.
func (d *dataset) columns() iter.Seq2[string, string] {
	return func(yield func(name, kind string) bool) {
		for c := range strings.SplitSeq(d.empty, ",") {
			if name, kind, _ := strings.Cut(strings.TrimSpace(c), " "); !yield(name, kind) {
				return
			}
		}
	}
}

// null returns an expression for a column without values.
func null(name, kind string) string { return "CAST(NULL AS " + kind + ") AS " + name }

// quote writes a string as an SQL literal.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// definition is the definition of a view.
type definition struct {
	name string
	sql  string
	of   *dataset
}

// definitions are in order, so that each view comes after the views it is made of. The first is
// events.
var definitions = []definition{
	{"events", strings.Replace(eventsSQL, "{traits}\n", traits("  $name, -- $name VARCHAR: $meaning\n"), 1), &ofEvents},
	{"session_events", sessionEventsSQL, &ofEvents},
	{"sessions", strings.Replace(sessionsSQL, "{traits}\n", traits("  , arg_min($name, event_id) AS $name -- $name VARCHAR: $meaning\n"), 1), &ofEvents},
	{"conversions", conversionsSQL, &ofEvents},
	{"readings", readingsSQL, &ofReadings},
	{"domain_events", domainEventsSQL, &ofDomainEvents},
}

// Views returns the tables that a query sees, with the meaning of each column. They are read from
// the comments in the definitions, so they always match them.
func Views() []View {
	views := make([]View, len(definitions))
	for i, d := range definitions {
		views[i] = describe(d)
	}
	return views
}

// describe reads the comments of a definition: `-- view: meaning`, and after each column `-- name
// TYPE: meaning`. The name * stands for all columns of the view events.
func describe(d definition) View {
	v := View{Name: d.name}
	for line := range strings.Lines(d.sql) {
		_, comment, _ := strings.Cut(line, "-- ")
		head, meaning, told := strings.Cut(strings.TrimSpace(comment), ": ")
		name, kind, isColumn := strings.Cut(head, " ")
		switch {
		case told && head == "view":
			v.Meaning = meaning
		case told && name == "*":
			v.Columns = append(v.Columns, describe(definitions[0]).Columns...)
		case told && isColumn:
			v.Columns = append(v.Columns, Column{name, kind, meaning})
		}
	}
	return v
}
