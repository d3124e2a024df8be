package bucket

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/internal/varint"
	"github.com/onefold/onefold/telemetry/internal/counterseries"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/quantiles"
)

// Encoded holds metrics as they are stored, for queries of one of many metrics of many buckets.
type Encoded []byte

// UnmarshalDynamoDBAttributeValue keeps the encoding. Errors: ErrEncoding.
func (e *Encoded) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	b, ok := av.(*types.AttributeValueMemberB)
	if !ok {
		return fmt.Errorf("%w: it is a %T", ErrEncoding, av)
	}
	*e = b.Value
	return nil
}

// Only decodes the kinds of one metric. Without spread, percentiles are left out. Errors: ErrEncoding.
func (e Encoded) Only(name string, spread bool) (found Metrics, err error) {
	if len(e) == 0 {
		return nil, nil
	}
	if e[0] != format {
		return nil, fmt.Errorf("%w: format %d", ErrEncoding, e[0])
	}
	r := varint.NewReader(e[1:])
	for range r.Count() {
		if string(r.Bytes(r.Uint())) != name {
			skip(&r)
			continue
		}
		found = append(found, Metric{Name: name, Kind: readKind(&r)})
		found[len(found)-1].read(&r, spread)
	}
	if r.Failed() || r.More() {
		return nil, ErrEncoding
	}
	return found, nil
}

// skip passes over what follows the name of a metric.
func skip(r *varint.Reader) {
	m := Metric{Kind: readKind(r)}
	if m.Kind != Gauge {
		m.read(r, false)
		return
	}
	r.Skip(1) // the count
	for range 4 {
		decimalsum.Skip(r)
	}
	counterseries.ReadPoint(r)
	counterseries.ReadPoint(r)
	quantiles.Skip(r)
}
