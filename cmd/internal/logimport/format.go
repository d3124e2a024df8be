package logimport

import (
	"errors"
	"fmt"
	"strings"

	"github.com/onefold/onefold/internal/accesslog"
	"github.com/onefold/onefold/internal/eventcsv"
)

// Format is the format of a file.
type Format string

// Auto detects the format from the beginning of each file.
const Auto Format = "auto"

// formats are the formats that can be selected, with descriptions.
var formats = []struct {
	Format
	what string
}{
	{Format(accesslog.Combined), "common or combined logs of nginx and Apache, with or without a leading virtual host"},
	{Format(accesslog.Caddy), "JSON logs of Caddy"},
	{Format(accesslog.CloudFront), "standard logs of CloudFront, tab-separated or JSON"},
	{Format(eventcsv.GoatCounter), "CSV export of GoatCounter"},
	{Format(eventcsv.Umami), "Umami's website_event as CSV"},
	// Daily counts are not events; the import command looks for them first.
	{"plausible", "export of daily counts from Plausible: a zip file, a folder or its CSV files"},
	{"ga4", "daily counts from Google Analytics 4: CSV of date, at most one dimension, and metrics"},
}

// Names returns the formats for a flag, Auto first.
func Names() []string {
	names := []string{string(Auto)}
	for _, f := range formats {
		names = append(names, string(f.Format))
	}
	return names
}

// ErrUnknownFormat is returned for a file in none of the formats.
var ErrUnknownFormat = errors.New("unknown_format")

func unknownFormat(name string) error {
	var list strings.Builder
	for _, f := range formats {
		fmt.Fprintf(&list, "\n  %-12s %s", f.Format, f.what)
	}
	return fmt.Errorf("%w: %s does not look like any of these formats; to choose one anyway, use --format:%s", ErrUnknownFormat, name, list.String())
}

// detect returns the format of a file by its beginning, or "" if it is none of the formats.
func detect(head []byte) Format {
	if export := eventcsv.Detect(head); export != "" {
		return Format(export)
	}
	return Format(accesslog.Detect(head))
}
