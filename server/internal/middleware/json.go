package middleware

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// JSON is the format of responses. It is huma's, except that large bodies may encode themselves.
var JSON = huma.Format{Marshal: writeJSON, Unmarshal: json.Unmarshal}

// appender is a response body that encodes itself, exactly as PlainJSON would, without reflection.
type appender interface {
	AppendJSON(b []byte) ([]byte, error)
}

// buffers are reused unless they have grown beyond maxBuffer bytes.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxBuffer = 1 << 20

func writeJSON(w io.Writer, v any) error {
	a, ok := v.(appender)
	if !ok {
		return PlainJSON(w).Encode(v)
	}
	buffer, _ := buffers.Get().(*[]byte)
	b, err := a.AppendJSON((*buffer)[:0])
	if err == nil {
		b = append(b, '\n')
		_, err = w.Write(b)
	}
	if cap(b) <= maxBuffer {
		*buffer = b
		buffers.Put(buffer)
	}
	return err
}
