// Package recorded finds recorded real-world data for tests. The data is not part of the project.
package recorded

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The files and their origins.
const (
	AccessLog          = "access.log.gz"              // from elastic/examples, Apache-2.0
	MachineTemperature = "machine_temperature.csv.gz" // from numenta/NAB, MIT
	PermitReceipts     = "permit_receipts.csv.gz"     // from J. Buijs, Eindhoven University of Technology, as sampled in pm4py
)

var origins = map[string]string{
	AccessLog:          "the Apache log of elastic/examples (Apache-2.0), packed with gzip",
	MachineTemperature: "the temperature of an industrial machine of numenta/NAB (MIT), packed with gzip",
	PermitReceipts:     "the receipt phase of an environmental permit application process (WABO), CoSeLoG project, J. Buijs, Eindhoven University of Technology, 2014, as CSV in pm4py's test data, packed with gzip",
}

// T is the required part of testing.TB.
type T interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Dir returns the directory of the files: ONEFOLD_DATA, or shared/data alongside the project.
func Dir() string {
	if dir := os.Getenv("ONEFOLD_DATA"); dir != "" {
		return dir
	}
	root, err := os.Getwd()
	for err == nil && !isFile(filepath.Join(root, "go.mod")) && root != filepath.Dir(root) {
		root = filepath.Dir(root)
	}
	return filepath.Join(filepath.Dir(root), "shared", "data")
}

// Has reports whether a file exists.
func Has(name string) bool { return isFile(filepath.Join(Dir(), name)) }

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Missing returns a message that a file does not exist, and how to get it.
func Missing(name string) string {
	return name + " is missing in " + Dir() + ": put there " + origins[name] + ", or set ONEFOLD_DATA to the folder that has it"
}

// Path returns the path of a file. A test is skipped if the file is missing.
func Path(t T, name string) string {
	t.Helper()
	if !Has(name) {
		t.Skipf("%s", Missing(name))
	}
	return filepath.Join(Dir(), name)
}

// Row is one reading of a recorded series. Nth is its index among identical rows.
type Row struct {
	At    time.Time // written without a zone, read as UTC
	Value string
	Nth   int
}

// Temperatures returns the readings of MachineTemperature, in the order of the file: one every five
// minutes for two and a half months, with some times twice. A test is skipped if the file is
// missing.
func Temperatures(t T) (rows []Row) {
	t.Helper()
	f, err := os.Open(Path(t, MachineTemperature))
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", f.Name(), err)
	}
	same := map[string]int{}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		when, value, _ := strings.Cut(lines.Text(), ",")
		at, err := time.Parse(time.DateTime, when)
		if err != nil {
			if rows == nil { // the header
				continue
			}
			t.Fatalf("%s: %q: %v", f.Name(), lines.Text(), err)
		}
		rows = append(rows, Row{at, value, same[lines.Text()]})
		same[lines.Text()]++
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", f.Name(), err)
	}
	return rows
}
