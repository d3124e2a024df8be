package eventcsv

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Export identifies the program that exported a file.
type Export string

// The exports.
const (
	GoatCounter Export = "goatcounter" // "Export" in its settings, versions 1 and 2
	Umami       Export = "umami"       // website_event of the cloud's export, or of the database as CSV
)

// Exports lists all exports.
var Exports = []Export{GoatCounter, Umami}

// ErrVersion is returned for an unknown version of an export.
var ErrVersion = errors.New("eventcsv: unknown version of the export")

// Detect returns the export from the beginning of a file, or "" if it is unknown.
func Detect(head []byte) Export {
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	for _, e := range Exports {
		if _, err := NewParser(e).header(line); err == nil || errors.Is(err, ErrVersion) {
			return e
		}
	}
	return ""
}

// Parser parses the rows of one file. It must not be used by several goroutines at once.
type Parser struct {
	export  Export
	columns []string       // the header's names; nil before the header
	column  map[string]int // index by name
}

// NewParser returns a parser that expects a header first.
func NewParser(export Export) *Parser { return &Parser{export: export} }

// maxColumns is the maximum number of columns of a header.
const maxColumns = 512

// Parse parses a row, with or without its line ending; the first row is the header. The Event does
// not refer to the row's memory, and its texts are valid UTF-8. Errors: ErrMalformed; for the
// header, ErrVersion and ErrNoExport, after which reading must stop.
func (p *Parser) Parse(text []byte) (Event, error) {
	if p.columns == nil {
		columns, err := p.header(text)
		if err != nil {
			return Event{}, err
		}
		p.setColumns(columns)
		return Event{}, nil
	}
	if len(bytes.TrimSpace(text)) == 0 { // exports may have empty rows
		return Event{}, nil
	}
	values, err := fields(text)
	if err != nil {
		return Event{}, err
	}
	if len(values) != len(p.columns) {
		return Event{}, malformed("it has %d columns, and the header names %d", len(values), len(p.columns))
	}
	r := row{p, values}
	if p.export == GoatCounter {
		return r.goatCounter()
	}
	return r.umami()
}

func (p *Parser) setColumns(columns []string) {
	p.columns, p.column = columns, make(map[string]int, len(columns))
	for i, name := range columns {
		if _, ok := p.column[name]; !ok {
			p.column[name] = i
		}
	}
}

// ErrNoExport is returned for a header that does not belong to the export.
var ErrNoExport = errors.New("eventcsv: not the header of this export")

// needed are the required columns.
var needed = map[Export][]string{
	GoatCounter: {"path", "event", "session", "bot", "date"},
	Umami:       {"session_id", "url_path", "event_type", "created_at"},
}

// header parses the names of the columns, in lower case and without spaces.
func (p *Parser) header(row []byte) ([]string, error) {
	names, err := fields(bytes.TrimPrefix(row, []byte("\xef\xbb\xbf")))
	if err != nil || len(names) > maxColumns {
		return nil, fmt.Errorf("%w: %q", ErrNoExport, row[:min(len(row), 80)])
	}
	for i, name := range names {
		names[i] = strings.NewReplacer(" ", "", "-", "").Replace(strings.ToLower(strings.TrimSpace(name)))
	}
	if p.export == GoatCounter {
		version, ok := strings.CutSuffix(names[0], "path")
		switch {
		case !ok || len(version) > 3 || strings.Trim(version, "0123456789") != "":
			return nil, fmt.Errorf("%w: it begins with %.40q instead of 2Path", ErrNoExport, names[0])
		case version != "1" && version != "2":
			return nil, fmt.Errorf("%w: GoatCounter version %q; versions 1 and 2 are supported", ErrVersion, version)
		}
		names[0] = "path"
	}
	for _, name := range needed[p.export] {
		found := false
		for i := range names {
			found = found || names[i] == name
		}
		if !found {
			return nil, fmt.Errorf("%w: it has no column %s", ErrNoExport, name)
		}
	}
	return names, nil
}

// fields splits a row.
func fields(row []byte) ([]string, error) {
	if !utf8.Valid(row) {
		row = bytes.ToValidUTF8(row, []byte("\uFFFD"))
	}
	r := csv.NewReader(bytes.NewReader(row))
	r.FieldsPerRecord = -1
	values, err := r.Read()
	if err != nil {
		if wrong := (*csv.ParseError)(nil); errors.As(err, &wrong) {
			err = wrong.Err
		}
		return nil, malformed("%v", err)
	}
	return values, nil
}

// row is the values of one row.
type row struct {
	p      *Parser
	values []string
}

// get returns the value of a column, or "" if there is no such column.
func (r row) get(name string) string {
	i, ok := r.p.column[name]
	if !ok {
		return ""
	}
	return r.values[i]
}
