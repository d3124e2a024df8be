package registry

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/onefold/onefold/eventstore/eventschema"
)

// Unknown is how to treat events of unregistered types.
type Unknown int

const (
	// Reject returns ErrUnknownType.
	Reject Unknown = iota
	// Skip decodes them to nil; folds ignore them.
	Skip
	// AsRaw decodes them to a Raw, which folds may handle.
	AsRaw
)

// Options configures a Registry. The zero value has good defaults.
type Options struct {
	Codec   Codec   // of payloads; default JSON
	Unknown Unknown // treatment of unregistered types; default Reject
}

// Errors of registries.
var (
	// ErrRegistry is returned when types, upcasts or folds are inconsistent. The message says how.
	ErrRegistry = errors.New("registry: invalid")
	// ErrUnknownType is returned for an event or value of an unregistered type.
	ErrUnknownType = errors.New("registry: unknown type")
	// ErrUnknownVersion is returned for an event of a later version than the registered one,
	// written by a newer program. Its meaning cannot be guessed, so no policy skips it.
	ErrUnknownVersion = errors.New("registry: unknown version")
	// ErrPayload is returned when a payload cannot be decoded, encoded or upcast.
	ErrPayload = errors.New("registry: payload")
)

// A Registry maps types of events to Go types. Register and Upcast fill it, and Check completes it;
// then it is safe for concurrent use. Folds may be created before and after.
type Registry struct {
	o Options

	verdict atomic.Pointer[verdict] // nil until checked

	mu       sync.Mutex // protects the fields below; after the check only problems and late change
	names    map[string]*eventType
	types    map[reflect.Type]*eventType
	upcasts  []*upcast
	handled  []reflect.Type // by folds
	problems []error
	late     []error // registrations after the check
}

// verdict is the result of Check.
type verdict struct{ err error }

// eventType is a registered type.
type eventType struct {
	name    string
	version int // current version
	form    *form
	olds    map[int]*upcast     // by the version that they start from
	schema  *eventschema.Schema // of the current version, if Constrain set it
}

// form decodes the payloads of one version.
type form struct {
	codec Codec
	goes  reflect.Type
	fresh func() any       // returns a pointer to a zero value
	value func(of any) any // dereferences such a pointer
}

func formOf[T any](c Codec) *form {
	return &form{codec: c, goes: reflect.TypeFor[T](), fresh: func() any { return new(T) }, value: func(p any) any { return *p.(*T) }}
}

func (f *form) decode(data []byte) (any, error) {
	p := f.fresh()
	if err := f.codec.Decode(data, p); err != nil {
		return nil, err
	}
	return f.value(p), nil
}

// upcast converts an older version to a later one.
type upcast struct {
	name     string
	from, to int
	form     *form // of the older version
	makes    reflect.Type
	do       func(any) (any, error)
}

// New returns an empty registry.
func New(o Options) *Registry {
	if o.Codec == nil {
		o.Codec = JSON
	}
	r := &Registry{o: o, names: map[string]*eventType{}, types: map[reflect.Type]*eventType{}}
	if o.Unknown < Reject || o.Unknown > AsRaw {
		r.problem("unknown policy %d for unknown types", o.Unknown)
	}
	return r
}

// FormOption configures the encoding of one version of a type.
type FormOption func(*Codec)

// In sets the codec of the payloads. Default: the registry's. A type may change its codec only with
// its version.
func In(c Codec) FormOption { return func(to *Codec) { *to = c } }

func (r *Registry) codec(options []FormOption) Codec {
	c := r.o.Codec
	for _, o := range options {
		o(&c)
	}
	return c
}

// Register registers T for events of a type, with the current version, from 1. T is a struct, or
// whatever the codec decodes, and must belong to one event type only. Mistakes are reported by
// Check.
func Register[T any](r *Registry, eventType string, version int, options ...FormOption) {
	r.register(eventType, version, formOf[T](r.codec(options)))
}

func (r *Registry) register(name string, version int, f *form) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open("type %q", name) {
		return
	}
	switch other := r.types[f.goes]; {
	case name == "" || strings.ContainsRune(name, '#'):
		r.problem("type %q: an event type must not be empty or contain '#'", name)
	case version < 1:
		r.problem("type %q: version %d: use versions from 1", name, version)
	case f.goes.Kind() == reflect.Interface || f.goes == reflect.TypeFor[Raw]():
		r.problem("type %q: %s cannot be an event type", name, f.goes)
	case r.names[name] != nil:
		r.problem("type %q is registered twice", name)
	case other != nil:
		r.problem("%s is registered for %q and for %q: use a separate Go type for each", f.goes, other.name, name)
	default:
		t := &eventType{name: name, version: version, form: f, olds: map[int]*upcast{}}
		r.names[name], r.types[f.goes] = t, t
	}
}

// Upcast registers how to convert payloads of an older version to a later one: the registered
// version, or one from which another upcast continues. Old is what older payloads are decoded to: a
// struct kept for this purpose, or map[string]any. Each older version needs an upcast. Options
// apply to the older version. Mistakes are reported by Check.
func Upcast[Old, New any](r *Registry, eventType string, from, to int, do func(Old) (New, error), options ...FormOption) {
	u := &upcast{name: eventType, from: from, to: to, form: formOf[Old](r.codec(options)), makes: reflect.TypeFor[New]()}
	u.do = func(old any) (any, error) { return do(old.(Old)) }
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open("upcast of %q", eventType) {
		r.upcasts = append(r.upcasts, u)
	}
}

// open reports whether types and upcasts may still be added.
func (r *Registry) open(what string, args ...any) bool {
	if r.verdict.Load() == nil {
		return true
	}
	r.late = append(r.late, invalid(what+": registered after the registry was checked, so it is not used", args...))
	return false
}

func (r *Registry) problem(format string, args ...any) {
	r.problems = append(r.problems, invalid(format, args...))
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRegistry}, args...)...)
}
