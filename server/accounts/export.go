package accounts

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
)

// EntryJSON is an entry as JSON, with everything that its hash covers.
type EntryJSON struct {
	Seq     int64     `json:"seq,omitempty" doc:"Its number in the chain. Entries of versions before the chain have none."`
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Actor   string    `json:"actor" doc:"user:ID, key:ID, token, command or nobody."`
	Action  string    `json:"action"`
	Site    string    `json:"site,omitempty"`
	Subject string    `json:"subject,omitempty"`
	Changes []Change  `json:"changes,omitempty" doc:"Changed fields."`
	Omitted int       `json:"omitted,omitempty" doc:"Number of further changed fields that did not fit."`
	Expires time.Time `json:"expires,omitzero"`
	Prev    string    `json:"prev,omitempty" doc:"Hash of the previous entry."`
	PrevID  string    `json:"prevId,omitempty" doc:"ID of the previous entry."`
	Hash    string    `json:"hash,omitempty" doc:"SHA-256 of the entry."`
}

// JSON returns the entry as EntryJSON.
func (e *Entry) JSON() EntryJSON {
	j := EntryJSON{e.Seq, e.EntryID, e.At(), e.Actor, e.Action, e.Site, e.Subject, e.Changes, e.Omitted, e.Expires.UTC(), e.Prev, e.PrevID, ""}
	if e.Seq > 0 {
		j.Hash = e.Sum()
	}
	return j
}

// ExportFormat is the format of an export.
type ExportFormat string

// The export formats.
const (
	NDJSON ExportFormat = "ndjson" // one entry per line
	CSV    ExportFormat = "csv"    // one entry per row, with its changes as JSON
)

// WriteEntries writes entries to a file and returns their number. In CSV, text that a spreadsheet
// could run as a formula is prefixed with an apostrophe. Errors: those of the entries and the file.
func WriteEntries(w io.Writer, format ExportFormat, entries iter.Seq2[Entry, error], wrote func(int64)) (n int64, err error) {
	write, flush := ndjson(w)
	if format == CSV {
		if write, flush, err = rows(w); err != nil {
			return 0, err
		}
	}
	for e, err := range entries {
		if err == nil {
			err = write(e.JSON())
		}
		if err != nil {
			return n, fmt.Errorf("accounts: export: %w", err)
		}
		n++
		wrote(n)
	}
	return n, flush()
}

func ndjson(w io.Writer) (write func(EntryJSON) error, flush func() error) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return func(e EntryJSON) error { return enc.Encode(e) }, func() error { return nil }
}

func rows(w io.Writer) (write func(EntryJSON) error, flush func() error, err error) {
	file := csv.NewWriter(w)
	if err := file.Write([]string{"seq", "at", "actor", "action", "site", "subject", "changes", "omitted", "id", "prev", "hash"}); err != nil {
		return nil, nil, err
	}
	write = func(e EntryJSON) error {
		changes := []byte{}
		if len(e.Changes) > 0 {
			var err error
			if changes, err = json.Marshal(e.Changes); err != nil {
				return err
			}
		}
		return file.Write([]string{
			strconv.FormatInt(e.Seq, 10), e.At.Format("2006-01-02T15:04:05.000Z"), harmless(e.Actor), harmless(e.Action), harmless(e.Site), harmless(e.Subject), string(changes),
			strconv.Itoa(e.Omitted), e.ID, e.Prev, e.Hash,
		})
	}
	return write, func() error { file.Flush(); return file.Error() }, nil
}

// harmless prefixes text that a spreadsheet would run as a formula.
func harmless(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
