package payload_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/telemetry/payload"
)

func TestLines(t *testing.T) {
	for _, c := range []struct {
		line, want string
		of         payload.Lines
	}{
		{`boiler,device=b1 temperature=71.250,valve="open",on=t 1778594400000000000`, "b1 2026-05-12T14:00:00Z 0 boiler.on=true boiler.temperature=71.25 boiler.valve=open", payload.Lines{}},
		{"temp,host=h value=1i 1778594400000000007", "h 2026-05-12T14:00:00.000000007Z 7 temp=1", payload.Lines{}},
		{"cpu,cpu=cpu0,host=h,device_id=d idle=99u", "d - 0 cpu.idle{cpu=cpu0}=99", payload.Lines{}},
		{"cpu,b=2,a=1,host=h idle=9 5", "me 1970-01-01T00:00:05Z 0 cpu.idle{a=1,b=2}=9", payload.Lines{Device: "me", Unit: time.Second}},
		{"cpu,device=you idle=9 5", "line 1: it is of device \"you\"", payload.Lines{Device: "me"}},
		{"cpu idle=9", "line 1: no tag names the device: use device, device_id, host", payload.Lines{}},
		{"cpu,host=h idle=9", "line 1: no tag names the device: use sensor", payload.Lines{DeviceTags: []string{"sensor"}}},
		{"cpu,host=h idle=1e99999", "line 1: field", payload.Lines{}},
		{"cpu,host=h idle", "line 1: ", payload.Lines{}},
	} {
		lines, err := c.of.Parse([]byte(c.line))
		if err != nil || len(lines) != 1 {
			t.Fatalf("%s: %v, %v", c.line, lines, err)
		}
		var got string
		if r := &lines[0]; r.Err != nil {
			got = r.Err.Error()
		} else {
			at := "-"
			if !r.At.IsZero() {
				at = r.At.Format(time.RFC3339Nano)
			}
			got = fmt.Sprintf("%s %s %d", r.DeviceID, at, r.Nth)
			for _, name := range r.Values.Names() {
				got += " " + name + "=" + r.Values[name].String()
			}
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.line, got, c.want)
		}
	}
	if _, err := (payload.Lines{}).Parse([]byte(strings.Repeat("m v=1\n", payload.MaxLines+1))); !errors.Is(err, payload.ErrTooMany) {
		t.Errorf("too many lines: %v", err)
	}
}

func BenchmarkLines(b *testing.B) {
	text := []byte(strings.Repeat("weather,device=d1,station=north temperature=22.5,humidity=44i 1778594400000000000\n", 1000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (payload.Lines{}).Parse(text); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/line")
}
