package payload_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/onefold/onefold/telemetry/payload"
)

func describe(readings []payload.Reading) string {
	var b strings.Builder
	for _, r := range readings {
		if r.Err != nil {
			fmt.Fprintf(&b, "wrong: %v\n", r.Err)
			continue
		}
		fmt.Fprintf(&b, "%s", r.DeviceID)
		if !r.At.IsZero() {
			fmt.Fprintf(&b, " %s", r.At.UTC().Format("2006-01-02T15:04:05.999Z"))
		}
		if r.Seq != nil {
			fmt.Fprintf(&b, " #%d", *r.Seq)
		}
		for _, name := range r.Values.Names() {
			fmt.Fprintf(&b, " %s=%s%s", name, r.Values[name], r.Units[name])
		}
		for _, o := range r.Omitted {
			fmt.Fprintf(&b, " without %s (%s)", o.Metric, o.Reason)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"values":{"t":21.50}}`, "me t=21.5"},
		{` {"device":"d","at":"2026-05-12T14:00:00.250+02:00","seq":7,"values":{"t":1e2,"s":"on","b":true},"units":{"t":"C"}} `,
			"d 2026-05-12T12:00:00.25Z #7 b=true s=on t=100C"},
		{`{"at":1778594400250,"values":{"t":-0.10}}`, "me 2026-05-12T14:00:00.25Z t=-0.1"},
		{`[]`, ""},
		{`[{"values":{"t":1}},{"device":"e","values":{"t":0.1234567890123456789}}]`, "me t=1\ne t=0.1234567890123456789"},
		{`[{"values":{"t":1}},{"values":{"t":[1]}},{"values":{"t":3}}]`, "me t=1\nme without t (bad_value)\nme t=3"},
		{`{"values":{"a":{"b":1},"t":1}}`, "me t=1 without a (bad_value)"},
		{`[{"vals":{"t":1}},{"values":{"t":3}}]`, "wrong: …\nme t=3"},
		{`[1,"x",null,{"values":{"t":3}}]`, "wrong: …\nwrong: …\nme\nme t=3"},
		{`{"at":"yesterday","values":{"t":3}}`, "wrong: …"},
		{`{"at":1.5,"values":{"t":3}}`, "wrong: …"},
		{`{"at":99999999999999999999,"values":{"t":3}}`, "wrong: …"},
		{`{"values":{"t":1e400}}`, "me without t (bad_value)"},
		{`{"values":{"t":null}}`, "me t="},
	} {
		readings, err := payload.Parse([]byte(c.in), "me")
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		have := strings.Split(describe(readings), "\n")
		for i := range have {
			if strings.HasPrefix(have[i], "wrong: ") && len(have[i]) > 15 {
				have[i] = "wrong: …"
			}
		}
		if have := strings.Join(have, "\n"); have != c.want {
			t.Errorf("%s: %q, want %q", c.in, have, c.want)
		}
	}
}

func TestParseRejectsWholeTexts(t *testing.T) {
	for in, want := range map[string]error{
		"": payload.ErrSyntax, "NaN": payload.ErrSyntax, "12": payload.ErrSyntax, `"x"`: payload.ErrSyntax,
		`{"values":{"t":NaN}}`: payload.ErrSyntax, `{"values":{"t":1}`: payload.ErrSyntax, `{"values":{"t":1}}{}`: payload.ErrSyntax,
		`[{"values":{"t":1}}`: payload.ErrSyntax, `[{"values":{"t":1}},]`: payload.ErrSyntax, `[] x`: payload.ErrSyntax,
		"[" + strings.Repeat(`{"values":{"t":1}},`, payload.MaxReadings) + `{"values":{"t":1}}]`: payload.ErrTooMany,
		strings.Repeat("[", 100_000): payload.ErrSyntax,
	} {
		if readings, err := payload.Parse([]byte(in), "me"); !errors.Is(err, want) {
			t.Errorf("%.60s: %d readings, %v; want %v", in, len(readings), err, want)
		}
	}
}

func TestValue(t *testing.T) {
	for in, want := range map[string]string{
		"21.50": "21.5", " 7 ": "7", "true": "true", `"open"`: "open", "open": "open", "NaN": "NaN", "-0": "0", "1e400": "1e400",
		"": "-", "{}": "-", "[1]": "-", "null": "null",
	} {
		v, ok := payload.Value([]byte(in))
		have := v.String()
		if !ok {
			have = "-"
		}
		if have != want {
			t.Errorf("%q: %q, want %q", in, have, want)
		}
	}
}

// FuzzParse reads any text. It must not panic, and the result must be limited in size. Everything
// that can be read must stay the same when written and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"device":"d","at":1778594400250,"seq":7,"values":{"t":1e2,"s":"on","b":true},"units":{"t":"C"}}]`))
	f.Add([]byte(`{"values":{"t":0.1e-9}}`))
	f.Add([]byte(`[{"at":"2026-05-12T14:00:00.25+02:00","values":{"":null}},{"values":{"t":1},"values":{"t":[]}},7,{"at":1e3}]`))
	f.Add([]byte("{\"device\":\"\xff\",\"values\":{\"a\":\"\\ud800\",\"a\":-0.0}} "))
	f.Fuzz(func(t *testing.T, text []byte) {
		readings, err := payload.Parse(text, "me")
		if err != nil && readings != nil || len(readings) > payload.MaxReadings || len(readings) > 1+bytes.Count(text, []byte(",")) {
			t.Fatalf("%d readings and %v", len(readings), err)
		}
		for i := range readings {
			if readings[i].Err == nil {
				writtenAgain(t, &readings[i])
			}
		}
		if v, ok := payload.Value(text); ok && len(v.String()) > len(text)+maxExponent {
			t.Fatalf("a value of %d bytes became %d", len(text), len(v.String()))
		}
	})
}

// maxExponent is how much longer a number may be than its text: 1e99 has a hundred digits.
const maxExponent = 1000

// writtenAgain checks that a reading is the same after being written and read.
func writtenAgain(t *testing.T, r *payload.Reading) {
	t.Helper()
	if r.DeviceID == "" {
		t.Fatal("a reading of no device")
	}
	form := map[string]any{"device": r.DeviceID, "values": r.Values, "seq": r.Seq, "units": r.Units}
	if !r.At.IsZero() {
		form["at"] = r.At
	}
	text, err := json.Marshal(form)
	if err != nil {
		t.Fatal(err)
	}
	again, err := payload.Parse(text, "another")
	if err != nil || len(again) != 1 || again[0].Err != nil {
		t.Fatalf("%s: %v, %v", text, again, err)
	}
	if same := again[0]; same.DeviceID != r.DeviceID || !same.At.Equal(r.At) || !maps.Equal(same.Values, r.Values) || !maps.Equal(same.Units, r.Units) ||
		(same.Seq == nil) != (r.Seq == nil) || r.Seq != nil && *same.Seq != *r.Seq {
		t.Fatalf("%+v became %+v", r, same)
	}
}
