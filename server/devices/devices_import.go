package devices

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/credentials"
)

// maxImport is the maximum number of devices per request.
const maxImport = 5000

type importDevicesRequest struct {
	middleware.FleetPath
	ContentType string `header:"Content-Type" doc:"text/csv or application/jsonl."`
	Tokens      bool   `query:"tokens" doc:"Create a token for each new device. The response is the only place where it appears."`
	DryRun      bool   `query:"dryRun" doc:"Only validate the list."`
	RawBody     []byte `contentType:"text/csv"`
}

type importDevicesAnswer struct {
	Body struct {
		Created  int              `json:"created"`
		Existing int              `json:"existing"`
		Rejected int              `json:"rejected"`
		Devices  []importedDevice `json:"devices" doc:"One per line, in order."`
	}
}

type importedDevice struct {
	Line   int    `json:"line"`
	ID     string `json:"id"`
	Status string `json:"status" enum:"created,exists,rejected,valid"`
	Detail string `json:"detail,omitempty"`
	Token  string `json:"token,omitempty"`
}

// formLine is one line of a device list.
type formLine struct {
	DeviceForm
	line int
	err  error
}

func (s *Service) importDeviceRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "import-devices", Method: http.MethodPost, Path: devicesPath + "/import", MaxBodyBytes: maxBody, BodyReadTimeout: ingestFor, SkipValidateBody: true,
		Summary: "Create up to 5,000 devices from a list",
		Description: "JSON Lines like the body of POST …/devices, or CSV whose first line names the columns: id, name, type, status, location, firmware, profile, " +
			"tags (separated by ;) and note:NAME. Existing devices are left unchanged. Invalid lines are reported, and the others are created.",
		Tags: []string{"devices"}, Errors: []int{http.StatusBadRequest, http.StatusUnsupportedMediaType},
	}), s.importDevices)
}

func (s *Service) importDevices(ctx context.Context, in *importDevicesRequest) (*importDevicesAnswer, error) {
	if _, err := telemetry.GetFleet(ctx, s.table, in.Fleet); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	lines, err := readForms(in.ContentType, in.RawBody)
	if err != nil {
		return nil, err
	}
	answer := &importDevicesAnswer{}
	answer.Body.Devices = make([]importedDevice, len(lines))
	var make []telemetry.NewDevice
	var of []int
	for i := range lines {
		l := &lines[i]
		answer.Body.Devices[i] = importedDevice{Line: l.line, ID: l.ID, Status: "valid"}
		if l.err != nil {
			answer.Body.Devices[i].Status, answer.Body.Devices[i].Detail = "rejected", l.err.Error()
			continue
		}
		make, of = append(make, l.device(in.Fleet)), append(of, i)
	}
	if !in.DryRun {
		if err := s.makeDevices(ctx, in, make, of, answer.Body.Devices); err != nil {
			return nil, s.mw.Error(ctx, err)
		}
	}
	for _, d := range answer.Body.Devices {
		switch d.Status {
		case "created":
			answer.Body.Created++
		case "exists":
			answer.Body.Existing++
		case "rejected":
			answer.Body.Rejected++
		}
	}
	s.record(ctx, "device.import", in.Fleet, "")
	return answer, nil
}

// makeDevices creates devices and reports the outcome of each. Errors: those of the store, if some
// devices may not have been created.
func (s *Service) makeDevices(ctx context.Context, in *importDevicesRequest, devices []telemetry.NewDevice, of []int, notes []importedDevice) error {
	_, errs := telemetry.CreateDevices(ctx, s.table, devices)
	for n, err := range errs {
		note := &notes[of[n]]
		switch {
		case err == nil:
			note.Status = "created"
			s.o.Collector.Forget(note.ID)
		case errors.Is(err, table.ErrExists):
			note.Status = "exists"
			if d, err := telemetry.GetDevice(ctx, s.table, note.ID); err != nil || d.FleetID != in.Fleet {
				note.Status, note.Detail = "rejected", "the ID is taken"
			}
		case errors.Is(err, telemetry.ErrInvalid), errors.Is(err, table.ErrKeyValue):
			note.Status, note.Detail = "rejected", whatIsInvalid(err)
		case errors.Is(err, table.ErrNotFound): // the fleet exists: the request is authorized for it
			note.Status, note.Detail = "rejected", fmt.Sprintf("the fleet has no profile %q", devices[n].ProfileID)
		default:
			return err
		}
		if note.Status == "created" && in.Tokens {
			token, err := credentials.NewToken(ctx, s.table, note.ID)
			if err != nil {
				return err
			}
			note.Token = token
		}
	}
	return nil
}

// whatIsInvalid returns the reason of a validation error without its package prefixes.
func whatIsInvalid(err error) string {
	if _, what, ok := strings.Cut(err.Error(), telemetry.ErrInvalid.Error()+": "); ok {
		return what
	}
	return "the ID contains an invalid character"
}

// readForms parses a device list. Its errors are problems.
func readForms(contentType string, body []byte) ([]formLine, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = contentType
	}
	var lines []formLine
	switch kind {
	case "text/csv":
		lines, err = readCSV(body)
	case "application/jsonl", "application/x-ndjson", "application/json", "text/plain", "":
		lines = readJSONLines(body)
	default:
		return nil, middleware.Problem(http.StatusUnsupportedMediaType, "unsupported_media_type", "Send text/csv or application/jsonl.")
	}
	if err != nil {
		return nil, middleware.Problem(http.StatusBadRequest, "bad_csv", err.Error())
	}
	if len(lines) > maxImport {
		return nil, middleware.Problem(http.StatusRequestEntityTooLarge, "too_many_devices", fmt.Sprintf("At most %d devices per request. Split the list.", maxImport))
	}
	return lines, nil
}

func readJSONLines(body []byte) (lines []formLine) {
	number := 0
	for text := range bytes.Lines(body) {
		number++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		l := formLine{line: number}
		in := json.NewDecoder(bytes.NewReader(text))
		in.DisallowUnknownFields()
		if l.err = in.Decode(&l.DeviceForm); l.err == nil && in.More() {
			l.err = errors.New("unexpected data after the device")
		}
		lines = append(lines, l)
		if len(lines) > maxImport {
			break
		}
	}
	return lines
}

func readCSV(body []byte) (lines []formLine, err error) {
	in := csv.NewReader(bytes.NewReader(body))
	in.FieldsPerRecord = -1
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the first line must name the columns")
	}
	if err != nil {
		return nil, err
	}
	head[0] = strings.TrimPrefix(head[0], "\ufeff")
	var check DeviceForm
	for i, name := range head {
		if head[i] = strings.TrimSpace(name); check.set(head[i], "") != nil {
			return nil, fmt.Errorf("column %.40q: use id, name, type, status, location, firmware, profile, tags or note:NAME", name)
		}
	}
	for len(lines) <= maxImport {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		l := formLine{err: err}
		if bad := new(csv.ParseError); errors.As(err, &bad) {
			l.line = bad.StartLine
		} else {
			l.line, _ = in.FieldPos(0)
		}
		if err == nil && len(row) != len(head) {
			l.err = fmt.Errorf("expected as many columns as the header: got %d, want %d", len(row), len(head))
		}
		for i := 0; l.err == nil && i < len(row); i++ {
			l.err = l.set(head[i], strings.TrimSpace(row[i]))
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// set sets the field of a column.
func (f *DeviceForm) set(column, text string) error {
	if note, ok := strings.CutPrefix(column, "note:"); ok && note != "" {
		if text != "" {
			if f.Notes == nil {
				f.Notes = map[string]string{}
			}
			f.Notes[note] = text
		}
		return nil
	}
	switch column {
	case "status":
		f.Status = telemetry.DeviceStatus(text)
		return nil
	case "tags":
		f.Tags = strings.FieldsFunc(text, func(r rune) bool { return r == ';' })
		return nil
	}
	field := map[string]*string{"id": &f.ID, "name": &f.Name, "type": &f.Type, "location": &f.Location, "firmware": &f.Firmware, "profile": &f.ProfileID}[column]
	if field == nil {
		return fmt.Errorf("unknown column %q", column)
	}
	*field = text
	return nil
}
