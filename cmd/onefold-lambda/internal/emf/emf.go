// Package emf writes the metrics of an invocation as one log line in CloudWatch's embedded metric
// format, from which CloudWatch makes metrics without a request. The lines contain only numbers,
// and no personal data.
package emf

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Namespace is the namespace of the metrics in CloudWatch.
const Namespace = "onefold"

// Units of metrics, as named by CloudWatch.
const (
	Count        = "Count"
	Milliseconds = "Milliseconds"
)

// Figure is the value of a metric.
type Figure struct {
	Unit  string
	Value int64
}

// Writer writes metric lines. It is safe for concurrent use.
type Writer struct {
	mode  string
	table string
	clock func() time.Time

	mu sync.Mutex
	w  io.Writer
}

// New returns a Writer. The dimensions of its metrics are mode and table.
func New(w io.Writer, mode, table string, clock func() time.Time) *Writer {
	return &Writer{w: w, mode: mode, table: table, clock: clock}
}

type metric struct {
	Name string
	Unit string
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []metric
}

// Write writes the metrics of one invocation.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
func (w *Writer) Write(figures map[string]Figure) error {
	d := directive{Namespace: Namespace, Dimensions: [][]string{{"table", "mode"}}}
	line := map[string]any{"table": w.table, "mode": w.mode}
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		d.Metrics = append(d.Metrics, metric{name, figures[name].Unit})
		line[name] = figures[name].Value
	}
	line["_aws"] = map[string]any{"Timestamp": w.clock().UnixMilli(), "CloudWatchMetrics": []directive{d}}
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.w.Write(append(b, '\n'))
	return err
}
