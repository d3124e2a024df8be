package traffic

import (
	"io"
	"testing"
)

// BenchmarkWriteLog measures a line of the log that importers are measured with.
func BenchmarkWriteLog(b *testing.B) {
	g, err := New(Options{Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	if err := g.WriteLog(io.Discard, b.N); err != nil {
		b.Fatal(err)
	}
}
