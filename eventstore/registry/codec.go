package registry

import "encoding/json"

// A Codec is a form of payloads.
type Codec interface {
	// Encode returns a value as bytes.
	Encode(v any) ([]byte, error)
	// Decode reads bytes into what a pointer points to, which is a zero value.
	Decode(data []byte, into any) error
}

// JSON is the form that payloads have unless something else is said. Fields that a struct does not have are ignored.
var JSON Codec = jsonCodec{}

type jsonCodec struct{}

func (jsonCodec) Encode(v any) ([]byte, error)       { return json.Marshal(v) }
func (jsonCodec) Decode(data []byte, into any) error { return json.Unmarshal(data, into) }
