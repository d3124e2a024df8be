package devices

import (
	"context"
	"strings"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// maxAlertSteps is the maximum number of lists that one page of alerts reads.
const maxAlertSteps = 200

type alertsRequest struct {
	middleware.FleetPath
	State    string             `query:"state" enum:"open,all" default:"open" doc:"Open alerts only, or all."`
	Device   string             `query:"device" maxLength:"65" doc:"Only alerts of this device; ~FLEET is the fleet as a whole."`
	Severity telemetry.Severity `query:"severity" enum:"info,warning,critical" doc:"Only alerts of this severity."`
	// Withdrawn is not a State, because both can be asked for.
	Withdrawn string `query:"withdrawn" enum:"include,exclude,only" default:"include" doc:"Whether to list withdrawn alerts: late readings, or a retraction, showed that their conditions never held."`
	PageParams
}

type alertsAnswer struct {
	Body struct {
		Alerts []AlertBody `json:"alerts"`
		Cursor string      `json:"cursor,omitempty" doc:"Cursor of the next page, if there may be one."`
	}
}

// alertLists reads a page of a sequence of lists. at names the list, "" for the first; next names
// the following list, "" if there is none.
type alertLists func(ctx context.Context, at, cursor string, limit int) (page table.Page[telemetry.Alert], next string, err error)

func (s *Service) alerts(ctx context.Context, in *alertsRequest) (*alertsAnswer, error) {
	if _, err := telemetry.GetFleet(ctx, s.table, in.Fleet); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if in.Device != "" {
		if err := s.knownTo(ctx, in.Fleet, in.Device); err != nil {
			return nil, err
		}
	}
	found, cursor, err := in.page(ctx, s.listsOf(in))
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(alertsAnswer)
	if answer.Body.Alerts, err = s.nameAlerts(ctx, in.Fleet, found); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer.Body.Cursor = cursor
	return answer, nil
}

// page reads lists until the page is full. Its cursor consists of the list where it stopped and
// that list's cursor.
func (in *alertsRequest) page(ctx context.Context, lists alertLists) (found []telemetry.Alert, cursor string, err error) {
	at, inner, both := strings.Cut(in.Cursor, "~")
	if in.Cursor != "" && !both {
		return nil, "", table.ErrCursor
	}
	for step := 0; step < maxAlertSteps && len(found) < in.Limit; step++ {
		page, next, err := lists(ctx, at, inner, in.Limit-len(found))
		if err != nil {
			return nil, "", err
		}
		for i := range page.Items {
			if a := &page.Items[i]; in.wants(a) {
				found = append(found, *a)
			}
		}
		if inner = page.Next; inner == "" {
			if at = next; at == "" {
				return found, "", nil
			}
		}
	}
	return found, at + "~" + inner, nil
}

func (in *alertsRequest) wants(a *telemetry.Alert) bool {
	return (in.State == "all" || a.Open()) && (in.Severity == "" || a.Severity == in.Severity) &&
		(in.Withdrawn == "include" || a.Withdrawn == (in.Withdrawn == "only"))
}

func (s *Service) listsOf(in *alertsRequest) alertLists {
	switch {
	case in.Device != "":
		return func(ctx context.Context, at, cursor string, limit int) (page table.Page[telemetry.Alert], _ string, err error) {
			if at != "" {
				return page, "", table.ErrCursor
			}
			page, err = s.alertsOf(ctx, in.Device, cursor, limit)
			return page, "", err
		}
	case in.State == "open":
		return s.openAlerts(in)
	}
	return s.allAlerts(in.Fleet)
}

func (s *Service) alertsOf(ctx context.Context, deviceID, cursor string, limit int) (table.Page[telemetry.Alert], error) {
	return telemetry.AlertsOfDevice.Page(ctx, s.table, telemetry.DeviceIn{DeviceID: deviceID}, cursor, limit)
}

// openAlerts reads a list for each severity, worst first.
func (s *Service) openAlerts(in *alertsRequest) alertLists {
	after := map[string]telemetry.Severity{"": telemetry.Critical, "critical": telemetry.Warning, "warning": telemetry.Info}
	if in.Severity != "" {
		after = map[string]telemetry.Severity{"": in.Severity}
	}
	return func(ctx context.Context, at, cursor string, limit int) (page table.Page[telemetry.Alert], next string, err error) {
		severity, ok := after[at]
		if !ok {
			return page, "", table.ErrCursor
		}
		page, err = telemetry.OpenAlerts.Page(ctx, s.table, telemetry.SeverityIn{Severity: severity, FleetID: in.Fleet}, cursor, limit)
		if _, more := after[string(severity)]; more {
			next = string(severity)
		}
		return page, next, err
	}
}

// allAlerts reads the list of the fleet as a whole, then a list for each device, by ID. No index
// has the resolved alerts of a fleet, so the device where a page stopped is the cursor in the list
// of devices.
func (s *Service) allAlerts(fleetID string) alertLists {
	const first = "-" // the first device
	return func(ctx context.Context, at, cursor string, limit int) (page table.Page[telemetry.Alert], next string, err error) {
		if at == "" {
			page, err = s.alertsOf(ctx, alerts.FleetDevice(fleetID), cursor, limit)
			return page, first, err
		}
		devices, err := telemetry.ListDevices(ctx, s.table, telemetry.LabelIn{FleetID: fleetID, Kind: telemetry.ByFleet, Value: telemetry.Any}, strings.TrimPrefix(at, first), 1)
		if err == nil && len(devices.Items) > 0 {
			page, err = s.alertsOf(ctx, devices.Items[0].DeviceID, cursor, limit)
		}
		if devices.Next != "" {
			next = first + devices.Next
		}
		return page, next, err
	}
}
