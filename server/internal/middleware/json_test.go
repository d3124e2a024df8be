package middleware

import (
	"bytes"
	"errors"
	"testing"
)

type appended struct {
	text string
	err  error
}

func (a appended) AppendJSON(b []byte) ([]byte, error) { return append(b, a.text...), a.err }

// Bodies that encode themselves end like others, and a failed one is not started.
func TestJSON(t *testing.T) {
	bad := errors.New("bad")
	for _, c := range []struct {
		answer any
		want   string
		err    error
	}{
		{appended{`{"a":1}`, nil}, `{"a":1}` + "\n", nil},
		{appended{`{"a":`, bad}, "", bad},
		{appended{`[]`, nil}, "[]\n", nil},
		{map[string]string{"a": "<"}, `{"a":"<"}` + "\n", nil},
	} {
		var w bytes.Buffer
		if err := JSON.Marshal(&w, c.answer); !errors.Is(err, c.err) || w.String() != c.want {
			t.Errorf("%+v: %q, %v", c.answer, &w, err)
		}
	}
}
