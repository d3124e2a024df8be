package payload_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
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
		{"cpu,cpu=cpu0,host=h,device_id=d idle=99u", "d - 0 cpu.idle=99 cpu:cpu0 or h map[cpu:cpu0 device_id:d]", payload.Lines{}},
		{"disk,device=sda,host=h,mode=rw free=9", "sda - 0 disk.free=9 mode:rw or h map[device:sda mode:rw]", payload.Lines{}},
		{"disk,device=sda,host=h,mode=rw free=9", "me - 0 disk.free=9 device:sda mode:rw", payload.Lines{Device: "me"}},
		{"disk,device=me,host=h,mode=rw free=9", "me - 0 disk.free=9 mode:rw", payload.Lines{Device: "me"}},
		{"cpu,b=2,a=1,host=h idle=9 5", "me 1970-01-01T00:00:05Z 0 cpu.idle=9 a:1 b:2", payload.Lines{Device: "me", Unit: time.Second}},
		{"cpu,device=you idle=9 5", "the device is \"you\"", payload.Lines{Device: "me"}},
		{"cpu idle=9", "no tag names the device: use device, device_id, host", payload.Lines{}},
		{"cpu,host=h idle=9", "no tag names the device: use sensor", payload.Lines{DeviceTags: []string{"sensor"}}},
		{"cpu,host=h idle=1e99999", "field", payload.Lines{}},
		{"cpu,host=h idle", "column ", payload.Lines{}},
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
			for _, name := range slices.Sorted(maps.Keys(r.Tags)) {
				got += " " + name + ":" + r.Tags[name]
			}
			if r.Host != "" {
				got += " or " + r.Host + " " + fmt.Sprint(r.HostTags)
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

// FuzzLines reads any text. It must not panic, lines must be numbered in order, and a valid line
// must be read whatever follows it.
func FuzzLines(f *testing.F) {
	f.Add([]byte("boiler,device=b1 temperature=71.25,valve=\"open\" 1778594400000000000\n"))
	f.Add([]byte("a,device=d t=\"one\ntwo\" 5\nbroken\n# a comment\n\nb,host=h,x=y v=1i,w=18446744073709551615u,b=F -1\r\n"))
	f.Add([]byte("a,device=d t=\"open\n\n\n\n\n\n\n\n\nb,device=d v=1"))
	f.Add([]byte("a\\ b,device=\xff\\=,= v=1e-400 9223372036854775807"))
	const good = "good,device=first v=1 7\n"
	f.Fuzz(func(t *testing.T, text []byte) {
		alone, err := (payload.Lines{Unit: time.Second}).Parse(text)
		if err != nil || len(alone) == payload.MaxLines {
			return // too many lines
		}
		last := 0
		for i := range alone {
			l := &alone[i]
			if l.Number <= last || l.Number > 1+bytes.Count(text, []byte{'\n'}) {
				t.Fatalf("line %d after line %d", l.Number, last)
			}
			if last = l.Number; l.Err == nil && (l.DeviceID == "" || len(l.Values) == 0 || l.Nth < 0) {
				t.Fatalf("line %d: %+v", l.Number, l)
			}
		}
		behind, err := (payload.Lines{Unit: time.Second}).Parse(append([]byte(good), text...))
		if err != nil || len(behind) != 1+len(alone) || behind[0].Err != nil || behind[0].DeviceID != "first" {
			t.Fatalf("%d lines behind a good one, alone %d: %v", len(behind), len(alone), err)
		}
		for i := range alone {
			a, b := &alone[i], &behind[i+1]
			if b.Number != a.Number+1 || (a.Err == nil) != (b.Err == nil) || a.Err == nil && (a.DeviceID != b.DeviceID || !a.At.Equal(b.At) || !maps.Equal(a.Values, b.Values)) {
				t.Fatalf("%+v became %+v behind a good line", a, b)
			}
		}
	})
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
