package explore

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Format is the format of a sheet.
type Format string

// The formats.
const (
	CSV   Format = "csv"   // RFC 4180, with a header line
	JSONL Format = "jsonl" // one JSON object per line
)

// Sheet writes rows of named values. Call Close at the end.
type Sheet struct {
	names []string
	lines *csv.Writer   // for CSV
	text  *bufio.Writer // for JSONL
	row   []string
}

// NewSheet starts a sheet. Errors: ErrQuestion for an unknown format, those of the writer.
func NewSheet(w io.Writer, f Format, names []string) (*Sheet, error) {
	s := &Sheet{names: names, row: make([]string, len(names))}
	switch f {
	case CSV:
		s.lines = csv.NewWriter(w)
		return s, s.lines.Write(names)
	case JSONL:
		s.text = bufio.NewWriter(w)
		return s, nil
	}
	return nil, fmt.Errorf("%w: format %q: want csv or jsonl", ErrQuestion, f)
}

// amount is an exact decimal. In CSV it is a number and not guarded; in JSON it is a string.
type amount string

// Row writes a row with one value per name: a string, int64, float64, amount or map of strings.
func (s *Sheet) Row(values ...any) error {
	if s.lines != nil {
		for i, v := range values {
			s.row[i] = cell(v)
		}
		return s.lines.Write(s.row)
	}
	for i, v := range values {
		before := byte(',')
		if i == 0 {
			before = '{'
		}
		value, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("explore: write %s: %w", s.names[i], err)
		}
		s.text.WriteByte(before) // errors of the writer are returned by the last write or by Close
		s.text.WriteString(strconv.Quote(s.names[i]))
		s.text.WriteByte(':')
		s.text.Write(value)
	}
	_, err := s.text.WriteString("}\n")
	return err
}

// Close flushes the sheet.
func (s *Sheet) Close() error {
	if s.lines != nil {
		s.lines.Flush()
		return s.lines.Error()
	}
	return s.text.Flush()
}

// cell formats a value for CSV.
func cell(v any) string {
	switch v := v.(type) {
	case string:
		return guard(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case amount:
		return string(v)
	case map[string]string:
		if len(v) == 0 {
			return ""
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return guard(string(text))
}

// guard prevents spreadsheets from interpreting a text from outside as a formula. See
// https://owasp.org/www-community/attacks/CSV_Injection.
func guard(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
