package dump

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"os"
	"path"
	"path/filepath"
	"slices"
)

var (
	// ErrNoExport is returned for a directory that is not an AWS export.
	ErrNoExport = errors.New("no_export")
	// ErrDamaged is returned if a file of an export does not match the export's manifest.
	ErrDamaged = errors.New("damaged_file")
)

// Source is a file of lines to import, with its expected contents.
type Source struct {
	Name  string // "-" for standard input
	items int64  // -1 if unknown
	md5   string // of the stored file, in base64; "" if unknown
}

// Sources returns the files for names. A directory is an AWS export to S3: the directory of one
// export, which contains manifest-summary.json, or a directory above it.
func Sources(names []string) ([]Source, error) {
	var all []Source
	for _, name := range names {
		info, err := os.Stat(name)
		if name == "-" || err == nil && !info.IsDir() {
			all = append(all, Source{Name: name, items: -1})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("no_such_file: %w", err)
		}
		files, err := exported(name)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// Files that describe an export, as named by AWS:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html.
const (
	summaryName = "manifest-summary.json"
	filesName   = "manifest-files.json"
)

// exported lists the data files of an export.
func exported(dir string) ([]Source, error) {
	dir, err := exportFolder(dir)
	if err != nil {
		return nil, err
	}
	if err := checkSummary(filepath.Join(dir, summaryName)); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(dir, filesName))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoExport, err)
	}
	var sources []Source
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		var f struct {
			ItemCount     int64  `json:"itemCount"`
			MD5           string `json:"md5Checksum"`
			DataFileS3Key string `json:"dataFileS3Key"`
		}
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil || f.DataFileS3Key == "" {
			return nil, fmt.Errorf("%w: %s is not a manifest of files (%w)", ErrNoExport, filepath.Join(dir, filesName), err)
		}
		sources = append(sources, Source{Name: filepath.Join(dir, "data", path.Base(f.DataFileS3Key)), items: f.ItemCount, md5: f.MD5})
	}
	return sources, lines.Err()
}

// exportFolder finds the only export in a directory, at most two levels below it.
func exportFolder(dir string) (string, error) {
	for _, below := range []string{"", "*", filepath.Join("*", "*")} {
		found, err := filepath.Glob(filepath.Join(dir, below, summaryName))
		if err != nil {
			return "", fmt.Errorf("%w: %s: %w", ErrNoExport, dir, err)
		}
		slices.Sort(found)
		switch {
		case len(found) == 1:
			return filepath.Dir(found[0]), nil
		case len(found) > 1:
			return "", fmt.Errorf("%w: there are %d exports in %s; give the directory of one, such as %s", ErrNoExport, len(found), dir, filepath.Dir(found[0]))
		}
	}
	return "", fmt.Errorf("%w: there is no %s in %s; give files of lines, or the directory of an AWS export (AWSDynamoDB/ID)", ErrNoExport, summaryName, dir)
}

// checkSummary returns an error for an export whose lines are not items.
func checkSummary(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoExport, err)
	}
	var s struct {
		OutputFormat string `json:"outputFormat"`
		ExportType   string `json:"exportType"`
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNoExport, name, err)
	}
	if s.OutputFormat != "" && s.OutputFormat != "DYNAMODB_JSON" {
		return fmt.Errorf("%w: the export is in the format %s; export again as DYNAMODB_JSON", ErrNoExport, s.OutputFormat)
	}
	if s.ExportType == "INCREMENTAL_EXPORT" {
		return fmt.Errorf("%w: the export is incremental: it holds changes, not items; export the whole table", ErrNoExport)
	}
	return nil
}

// sum returns the hash for a source's checksum, or nil if there is no checksum to compare.
func (s *Source) sum() hash.Hash {
	if s.md5 == "" {
		return nil
	}
	return md5.New()
}

// check compares a source with its manifest.
func (s *Source) check(items int64, sum hash.Hash) error {
	if s.items >= 0 && items != s.items {
		return fmt.Errorf("%w: %s has %d items, its manifest says %d", ErrDamaged, s.Name, items, s.items)
	}
	if sum == nil {
		return nil
	}
	if got := base64.StdEncoding.EncodeToString(sum.Sum(nil)); got != s.md5 {
		return fmt.Errorf("%w: %s has the MD5 sum %s, its manifest says %s", ErrDamaged, s.Name, got, s.md5)
	}
	return nil
}
