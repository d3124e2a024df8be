package payload_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/payload"
)

// united describes readings by the numbers of their lines and their values.
func united(t *testing.T, text string, of payload.Lines) (readings []string) {
	t.Helper()
	lines, err := of.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range payload.Unite(lines) {
		numbers := strings.Trim(fmt.Sprint(append([]int{l.Number}, l.Also...)), "[]")
		if l.Err != nil {
			readings = append(readings, numbers+": wrong")
			continue
		}
		var values []string
		for _, name := range l.Values.Names() {
			values = append(values, name+"="+l.Values[name].String())
		}
		readings = append(readings, numbers+": "+strings.Join(values, " "))
	}
	return readings
}

func TestUnite(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
		of   payload.Lines
	}{
		{"system,host=h load1=0.5,n_users=2i 7\nsystem,host=h uptime=90i 7\nsystem,host=h uptime_format=\"1:30\" 7", "1 2 3: system.load1=0.5 system.n_users=2 system.uptime=90 system.uptime_format=1:30", payload.Lines{}},
		{"cpu,host=h,cpu=a idle=1 7\ncpu,host=h,cpu=b idle=2 7\ncpu,cpu=a,host=h user=3 7", "1 3: cpu.idle=1 cpu.user=3; 2: cpu.idle=2", payload.Lines{}},
		{"m,host=h a=1 7\nm,host=h b=2 8\nn,host=h b=2 7\nm,host=i b=2 7\nm,host=h,x=y b=2 7", "1: m.a=1; 2: m.b=2; 3: n.b=2; 4: m.b=2; 5: m.b=2", payload.Lines{}},
		{"m,host=h a=1 1778594400000000000\nm,host=h b=2 1778594400000000001", "1: m.a=1; 2: m.b=2", payload.Lines{}},
		{"m,host=h a=1\nm,host=h b=2", "1 2: m.a=1 m.b=2", payload.Lines{}},
		{"m,host=h a=1 7\nm,host=h a=2,b=1 7\nm,host=h c=3 7\nm,host=h b=1 7", "1: m.a=1; 2 3 4: m.a=2 m.b=1 m.c=3", payload.Lines{}},
		{"m,host=h a=1 7\nm,host=h a=1 7", "1 2: m.a=1", payload.Lines{}},
		{"m,host=h a=1 7\nm,host=h b=oops 7\nm,host=h c=3 7", "1 3: m.a=1 m.c=3; 2: wrong", payload.Lines{}},
		{"m,device=d a=1 7\nm b=2 7\nm,device=e c=3 7", "1 2: m.a=1 m.b=2; 3: wrong", payload.Lines{Device: "d"}},
		{"m,x=1,y=2,host=h a=1 7\nm,x=1\\,y\\=2,host=h b=1 7\nm,x=1y2,host=h c=1 7", "1: m.a=1; 2: m.b=1; 3: m.c=1", payload.Lines{}},
	} {
		if got := strings.Join(united(t, c.text, c.of), "; "); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// A united reading has room for as many values as a reading may have. What does not fit is another.
func TestUniteKeepsWhatDoesNotFit(t *testing.T) {
	var text strings.Builder
	for i := range telemetry.MaxValues + 10 {
		fmt.Fprintf(&text, "m,host=h f%d=1 7\n", i)
	}
	lines, err := payload.Lines{}.Parse([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	if all := payload.Unite(lines); len(all) != 2 || len(all[0].Values) != telemetry.MaxValues || len(all[1].Values) != 10 {
		t.Errorf("%d readings", len(all))
	}
}

// TestUniteLosesNothing compares the values of random lines by point and field with those of the
// united readings: as sets, because a repeated line adds nothing.
func TestUniteLosesNothing(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	for range 200 {
		var text strings.Builder
		for range 1 + random.IntN(40) {
			fmt.Fprintf(&text, "m%d,host=h%d,t=%d f%d=%d,g%d=%d %d\n", random.IntN(2), random.IntN(2), random.IntN(2), random.IntN(3), random.IntN(2), random.IntN(3), random.IntN(2), random.IntN(2))
		}
		lines, err := payload.Lines{}.Parse([]byte(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		set := func(lines []payload.Line) map[string]bool {
			all := map[string]bool{}
			for _, l := range lines {
				for name, v := range l.Values {
					all[fmt.Sprint(l.DeviceID, l.Tags, l.At.UnixNano(), name, v)] = true
				}
			}
			return all
		}
		want, numbers := set(lines), []int(nil)
		got := payload.Unite(lines)
		for _, l := range got {
			numbers = append(append(numbers, l.Number), l.Also...)
		}
		slices.Sort(numbers)
		if !maps.Equal(want, set(got)) || len(numbers) != len(lines) || len(slices.Compact(numbers)) != len(lines) {
			t.Fatalf("%s became %+v", &text, got)
		}
	}
}

func BenchmarkUnite(b *testing.B) {
	lines, err := payload.Lines{}.Parse([]byte(strings.Repeat("weather,device=d1,station=north temperature=22.5,humidity=44i 1778594400000000000\n", 1000)))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		payload.Unite(slices.Clone(lines))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/line")
}
