package spoolflags

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onefold/onefold/internal/spool"
	"github.com/onefold/onefold/server"
)

// A server that does not use a spool does not start while a spool, wherever it is, holds
// acknowledged records.
func TestLeftoverSpoolIsReported(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for dir, flags := range map[string]Flags{data + ".spool": {Spool: none}, data + ".elsewhere": {Spool: data + ".elsewhere"}} {
		if err := nothingLeft(dir); err != nil {
			t.Errorf("without a directory: %v", err)
		}
		s, err := spool.Open(dir, spool.Options{For: "arn:a"})
		if err == nil {
			err = s.Append(t.Context(), []spool.Record{{Kind: 'e', Body: []byte("{}")}})
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = flags.Apply(&server.Options{}, data, "", slog.New(slog.DiscardHandler))
		if err == nil || !strings.HasPrefix(err.Error(), "spool_left: 1 ") || !strings.Contains(err.Error(), "arn:a") || !strings.Contains(err.Error(), dir) {
			t.Errorf("%+v: %v", flags, err)
		}
		_, err = (&Flags{SpoolBytes: minBytes}).open(dir, "arn:b", slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "spool_of_another: ") || !strings.Contains(err.Error(), "arn:a") {
			t.Errorf("another table: %v", err)
		}
	}
}
