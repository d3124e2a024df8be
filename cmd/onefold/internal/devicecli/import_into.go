package devicecli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/payload"
)

// into is the destination of an import: the table or a running server.
type into interface {
	// fleet returns the fleet of the flags. Without a fleet flag it is the fleet of the device.
	fleet(ctx context.Context) (telemetry.Fleet, error)
	// take imports readings, or computes the outcomes in a dry run. It also returns the IDs of
	// devices that were or would be created.
	take(ctx context.Context, in []telemetry.Incoming) ([]telemetry.Outcome, []string, error)
}

// tableInto imports into the table.
type tableInto struct {
	c         *Import
	table     *table.Table
	collector *telemetry.Collector
}

func (t *tableInto) fleet(ctx context.Context) (telemetry.Fleet, error) {
	id := t.c.Fleet
	switch {
	case id == "" && t.c.Device == "":
		return telemetry.Fleet{}, nil
	case id == "":
		d, err := telemetry.GetDevice(ctx, t.table, t.c.Device)
		if err != nil {
			return telemetry.Fleet{}, fmt.Errorf("%w; --fleet creates it", explain("device", t.c.Device, err))
		}
		id = d.FleetID
	}
	fleet, err := telemetry.GetFleet(ctx, t.table, id)
	return fleet, explain("fleet", id, err)
}

func (t *tableInto) take(ctx context.Context, in []telemetry.Incoming) ([]telemetry.Outcome, []string, error) {
	return t.collector.Import(ctx, in, telemetry.ImportOptions{MakeIn: t.c.Fleet, DryRun: t.c.DryRun})
}

// serverInto imports through a running server.
type serverInto struct {
	c      *Import
	remote *logimport.Remote
}

func (c *Import) toServer() (*serverInto, error) {
	remote, err := logimport.NewRemote(c.Server, c.Key)
	if err == nil && c.Fleet == "" {
		err = errors.New("no_fleet: an import through a server needs the fleet of the key: give it with --fleet")
	}
	return &serverInto{c, remote}, err
}

func (s *serverInto) path() string { return "/api/v1/fleets/" + url.PathEscape(s.c.Fleet) }

func (s *serverInto) fleet(ctx context.Context) (f telemetry.Fleet, err error) {
	var told struct{ TimeZone string }
	err = s.remote.Call(ctx, http.MethodGet, s.path(), nil, &told)
	return telemetry.Fleet{TimeZone: told.TimeZone}, err
}

func (s *serverInto) take(ctx context.Context, in []telemetry.Incoming) ([]telemetry.Outcome, []string, error) {
	if len(in) == 0 {
		return nil, nil, nil
	}
	body, err := payload.Append(nil, in)
	if err != nil {
		return nil, nil, err
	}
	if len(body) > maxSent && len(in) > 1 { // halving ends at a single reading, whose length is bounded
		first, made, err := s.take(ctx, in[:len(in)/2])
		if err != nil {
			return nil, made, err
		}
		second, more, err := s.take(ctx, in[len(in)/2:])
		return append(first, second...), append(made, more...), err
	}
	var told struct {
		Outcomes []telemetry.Outcome
		Made     []string
	}
	err = s.remote.Call(ctx, http.MethodPost, s.path()+"/import?makeDevices=true&dryRun="+strconv.FormatBool(s.c.DryRun), body, &told)
	if err == nil && len(told.Outcomes) != len(in) {
		err = fmt.Errorf("server: %d outcomes for %d readings", len(told.Outcomes), len(in))
	}
	return told.Outcomes, told.Made, err
}

// maxSent is the maximum body of a request in bytes. A server accepts twice as much.
const maxSent = 4 << 20

// importing imports readings and collects the summary's details: the devices created and, in a dry
// run, the readings that would be stored, so that a repeated reading is reported as a duplicate.
type importing struct {
	into   into
	dryRun bool

	mu   sync.Mutex
	made map[string]bool
	seen map[[16]byte]bool
}

// Ingest imports readings.
func (im *importing) Ingest(ctx context.Context, in []telemetry.Incoming) ([]telemetry.Outcome, error) {
	outcomes, made, err := im.into.take(ctx, in)
	im.mu.Lock()
	defer im.mu.Unlock()
	for _, id := range made {
		im.made[id] = true
	}
	if err != nil || !im.dryRun {
		return outcomes, err
	}
	for i := range outcomes {
		if o := &outcomes[i]; o.Status == telemetry.Stored || o.Status == telemetry.StoredLate {
			key, err := nameOf(&in[i])
			if err != nil {
				return nil, err
			}
			if im.seen[key] {
				o.Status = telemetry.Duplicate
			}
			im.seen[key] = true
		}
	}
	return outcomes, nil
}

// nameOf returns an identity that is equal for readings of which only one is stored.
func nameOf(r *telemetry.Incoming) (name [16]byte, err error) {
	what := []byte("#" + strconv.Itoa(r.Nth))
	if r.Seq != nil {
		what = strconv.AppendInt(nil, *r.Seq, 10)
	} else if values, err := json.Marshal([]any{r.Values, r.Tags}); err == nil {
		what = append(what, values...)
	} else {
		return name, err
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{r.DeviceID, strconv.FormatInt(r.At.UnixMilli(), 10), string(what)}, "\x00")))
	return [16]byte(sum[:16]), nil
}
