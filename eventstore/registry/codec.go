package registry

import "encoding/json"

// A Codec encodes payloads.
type Codec interface {
	// Encode encodes a value.
	Encode(v any) ([]byte, error)
	// Decode decodes data into the zero value that a pointer points to.
	Decode(data []byte, into any) error
}

// JSON is the default codec. It ignores fields that a struct does not have.
var JSON Codec = jsonCodec{}

type jsonCodec struct{}

func (jsonCodec) Encode(v any) ([]byte, error)       { return json.Marshal(v) }
func (jsonCodec) Decode(data []byte, into any) error { return json.Unmarshal(data, into) }
