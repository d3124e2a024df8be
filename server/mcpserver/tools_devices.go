package mcpserver

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"time"
)

var listFleets = define("list_fleets", "List fleets", "List the fleets of devices that the key may read, with their IDs and time zones.",
	onFleets, func(ctx context.Context, c *Client, _ *noArguments) (*result, error) {
		var said struct {
			Fleets []struct{ ID, Name, TimeZone string }
		}
		if err := c.get(ctx, "/api/v1/fleets", nil, &said); err != nil {
			return nil, err
		}
		list := []any{}
		for _, f := range said.Fleets[:min(len(said.Fleets), maxListed)] {
			list = append(list, map[string]any{"fleet_id": f.ID, "name": f.Name, "time_zone": f.TimeZone})
		}
		return &result{fields: map[string]any{"fleets": list, "total": len(said.Fleets)}, list: "fleets", more: "Ask for a fleet by its ID."}, nil
	})

// PageArguments select a part of a list.
type PageArguments struct {
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of results."`
	Cursor string `json:"cursor,omitempty" maxLength:"2048" doc:"cursor of the previous result, for the next part of the list."`
}

func (p *PageArguments) ask(ask url.Values) {
	limit := p.Limit
	if limit <= 0 {
		limit = rowsByDefault
	}
	ask.Set("limit", strconv.Itoa(limit))
	setIf(ask, "cursor", p.Cursor)
}

func setIf(ask url.Values, name, value string) {
	if value != "" {
		ask.Set(name, value)
	}
}

type devicesArguments struct {
	FleetID      string `json:"fleet_id" minLength:"1" maxLength:"64" doc:"ID of the fleet, from list_fleets."`
	Search       string `json:"search,omitempty" maxLength:"100" doc:"Part of the ID or name, ignoring case."`
	Connectivity string `json:"connectivity,omitempty" enum:"online,offline,never" doc:"Only devices that are online, offline or never connected."`
	Status       string `json:"status,omitempty" enum:"provisioned,active,inactive,maintenance,retired" doc:"Only devices with this status."`
	PageArguments
}

// deviceLine has the part of a device that a model needs, without tokens and notes.
type deviceLine struct {
	ID           string         `json:"id"`
	Name         string         `json:"name,omitempty"`
	Type         string         `json:"type,omitempty"`
	Status       string         `json:"status,omitempty"`
	Location     string         `json:"location,omitempty"`
	Firmware     string         `json:"firmware,omitempty"`
	Tags         []string       `json:"tags,omitempty"`
	Connectivity string         `json:"connectivity,omitempty"`
	LastSeen     time.Time      `json:"lastSeen,omitzero"`
	Latest       map[string]any `json:"latest,omitempty"`
}

var listDevices = define("list_devices", "List devices",
	"List the devices of a fleet with their status, connectivity and the latest value of each metric, whose names read_device_metric takes.",
	onFleets, func(ctx context.Context, c *Client, a *devicesArguments) (*result, error) {
		path, err := pathOf("/api/v1/fleets/%s/devices", a.FleetID)
		if err != nil {
			return nil, err
		}
		ask := url.Values{}
		setIf(ask, "search", a.Search)
		setIf(ask, "connectivity", a.Connectivity)
		setIf(ask, "status", a.Status)
		a.PageArguments.ask(ask)
		var said struct {
			Devices []deviceLine
			Cursor  string
		}
		if err := c.get(ctx, path, ask, &said); err != nil {
			return nil, err
		}
		list := []any{}
		for _, d := range said.Devices {
			list = append(list, d)
		}
		return paged("devices", list, said.Cursor, "Use a lower limit, or search."), nil
	})

// paged returns a part of a list.
func paged(name string, list []any, cursor, more string) *result {
	fields := map[string]any{name: list}
	if cursor != "" {
		fields[cursorField] = cursor
	}
	return &result{fields: fields, list: name, more: more}
}

type metricArguments struct {
	FleetID  string    `json:"fleet_id" minLength:"1" maxLength:"64" doc:"ID of the fleet, from list_fleets."`
	DeviceID string    `json:"device_id" minLength:"1" maxLength:"64" doc:"ID of the device, from list_devices."`
	Metric   string    `json:"metric" minLength:"1" maxLength:"100" doc:"Name of the metric, as in latest of list_devices."`
	Last     string    `json:"last,omitempty" maxLength:"6" doc:"Time until now: a number with m, h or d, such as 90m, 24h or 30d. Default: 24h."`
	From     time.Time `json:"from,omitzero" doc:"RFC 3339: start, instead of last."`
	To       time.Time `json:"to,omitzero" doc:"RFC 3339: end. Default: now."`
	Points   int       `json:"points,omitempty" minimum:"3" maximum:"200" default:"50" doc:"Maximum number of points. A longer series is thinned such that the shape of the curve is preserved."`
}

const pointsByDefault = 50

var readDeviceMetric = define("read_device_metric", "Read a metric of a device",
	"Read the values of one metric of a device over time, at a resolution that fits: readings, or buckets of minutes, hours or days with their mean, minimum and maximum. Times are UTC.",
	onFleets, func(ctx context.Context, c *Client, a *metricArguments) (*result, error) {
		path, err := pathOf("/api/v1/fleets/%s/devices/%s/series", a.FleetID, a.DeviceID)
		if err != nil {
			return nil, err
		}
		from, to, err := a.times(c.now())
		if err != nil {
			return nil, err
		}
		points := a.Points
		if points <= 0 {
			points = pointsByDefault
		}
		r := &result{list: "points", more: "Ask for fewer points or a shorter time."}
		err = c.get(ctx, path, url.Values{
			"metric": {a.Metric}, "maxPoints": {strconv.Itoa(points)}, "from": {from.Format(time.RFC3339)}, "to": {to.Format(time.RFC3339)},
		}, &r.fields)
		if err == nil {
			r.fields["from"], r.fields["to"] = from, to
		}
		return r, err
	})

var duration = regexp.MustCompile(`^([1-9][0-9]{0,4})([mhd])$`)

// times returns the asked time range.
func (a *metricArguments) times(now time.Time) (from, to time.Time, err error) {
	if !a.From.IsZero() && a.Last != "" {
		return from, to, fmt.Errorf("invalid_arguments: use either last or from")
	}
	if to = a.To; to.IsZero() {
		to = now
	}
	if from = a.From; from.IsZero() {
		last := a.Last
		if last == "" {
			last = "24h"
		}
		parts := duration.FindStringSubmatch(last)
		if parts == nil {
			return from, to, fmt.Errorf("invalid_arguments: last: use a number with m, h or d, such as 90m, 24h or 30d")
		}
		n, err := strconv.Atoi(parts[1])
		if err != nil {
			return from, to, fmt.Errorf("invalid_arguments: last: %w", err)
		}
		unit := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[parts[2]]
		from = to.Add(-time.Duration(n) * unit)
	}
	return from.UTC().Truncate(time.Second), to.UTC().Truncate(time.Second), nil
}
