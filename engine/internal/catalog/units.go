package catalog

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/request"
)

// Units are the capacities of a table or global index, in units per second. They are reported but
// not enforced.
type Units struct {
	Read      int64 `json:"read,omitempty"`     // provisioned
	Write     int64 `json:"write,omitempty"`    // provisioned
	MaxRead   int64 `json:"maxRead,omitempty"`  // maximum on-demand capacity; 0: unlimited
	MaxWrite  int64 `json:"maxWrite,omitempty"` // likewise
	WarmRead  int64 `json:"warmRead,omitempty"` // capacity available at once; 0: the default
	WarmWrite int64 `json:"warmWrite,omitempty"`
}

// Default capacity that an on-demand table or index can use at once ("Understanding DynamoDB warm
// throughput").
const (
	warmReadOnDemand  = 12_000
	warmWriteOnDemand = 4_000
)

// setProvisioned sets the provisioned units of the index called name. They are required unless the
// table is on-demand, in which case they are not allowed.
func (u *Units) setProvisioned(mode types.BillingMode, name string, p *types.ProvisionedThroughput) error {
	given := p != nil && (p.ReadCapacityUnits != nil || p.WriteCapacityUnits != nil)
	switch {
	case mode == types.BillingModePayPerRequest && given:
		return request.Invalid(invalid+"ProvisionedThroughput should not be specified for index: %s when BillingMode is PAY_PER_REQUEST", name)
	case mode == types.BillingModePayPerRequest:
		return nil
	case !given:
		return request.Invalid(invalid+"ProvisionedThroughput is not specified for index: %s", name)
	case p.ReadCapacityUnits == nil || p.WriteCapacityUnits == nil:
		return request.Invalid(invalid+"Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: %s", name)
	}
	u.Read, u.Write = *p.ReadCapacityUnits, *p.WriteCapacityUnits
	return nil
}

// setOnDemand sets the on-demand limits of an object that messages call "table" or "index : " and
// its name. -1 removes a limit.
func (u *Units) setOnDemand(mode types.BillingMode, of string, o *types.OnDemandThroughput) error {
	if o == nil {
		return nil
	}
	for _, m := range []struct {
		name  string
		units *int64
		dst   *int64
	}{{"MaxReadRequestUnits", o.MaxReadRequestUnits, &u.MaxRead}, {"MaxWriteRequestUnits", o.MaxWriteRequestUnits, &u.MaxWrite}} {
		switch {
		case m.units == nil:
		case mode != types.BillingModePayPerRequest:
			return request.Invalid(invalid+"%s for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED", m.name)
		case *m.units == -1:
			*m.dst = 0
		case *m.units < 1:
			return request.Invalid(invalid+"Requested %s for OnDemandThroughput for %s is outside of valid range", m.name, of)
		default:
			*m.dst = *m.units
		}
	}
	return nil
}

// setWarm sets the warm throughput of a table or index, which cannot decrease.
func (u *Units) setWarm(mode types.BillingMode, of string, w *types.WarmThroughput) error {
	if w == nil {
		return nil
	}
	read, write := u.warm(mode)
	for _, m := range []struct {
		name  string
		units *int64
		least int64
		dst   *int64
	}{{"ReadUnitsPerSecond", w.ReadUnitsPerSecond, read, &u.WarmRead}, {"WriteUnitsPerSecond", w.WriteUnitsPerSecond, write, &u.WarmWrite}} {
		if m.units == nil {
			continue
		}
		if *m.units < m.least {
			return request.Invalid(invalid+"Requested %s for WarmThroughput for %s is lower than current WarmThroughput, decreasing WarmThroughput is not supported", m.name, of)
		}
		*m.dst = *m.units
	}
	return nil
}

// warm returns the capacity available at once.
func (u *Units) warm(mode types.BillingMode) (read, write int64) {
	if mode == types.BillingModePayPerRequest {
		return max(u.WarmRead, warmReadOnDemand), max(u.WarmWrite, warmWriteOnDemand)
	}
	return max(u.WarmRead, u.Read), max(u.WarmWrite, u.Write)
}

// provisioned returns the provisioned units in the form of the API.
func (u Units) provisioned() *types.ProvisionedThroughputDescription {
	var none int64
	return &types.ProvisionedThroughputDescription{ReadCapacityUnits: &u.Read, WriteCapacityUnits: &u.Write, NumberOfDecreasesToday: &none}
}

// onDemand returns the on-demand limits in the form of the API, or nil if there are none.
func (u Units) onDemand() *types.OnDemandThroughput {
	if u.MaxRead == 0 && u.MaxWrite == 0 {
		return nil
	}
	o := new(types.OnDemandThroughput)
	if u.MaxRead != 0 {
		o.MaxReadRequestUnits = &u.MaxRead
	}
	if u.MaxWrite != 0 {
		o.MaxWriteRequestUnits = &u.MaxWrite
	}
	return o
}
