package registry

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
)

// Unknown says what becomes of events whose type is not registered.
type Unknown int

const (
	// Refuse makes them an ErrUnknownType.
	Refuse Unknown = iota
	// Skip decodes them to nil, and folds pass over them.
	Skip
	// AsRaw decodes them to a Raw, which folds may handle.
	AsRaw
)

// Options configure a Registry. The zero value has good defaults.
type Options struct {
	Codec   Codec   // the form of payloads; default JSON
	Unknown Unknown // what becomes of events of types that are not registered; default Refuse
}

// Errors of registries.
var (
	// ErrRegistry is returned when types, upcasters or folds do not fit together. The message says which.
	ErrRegistry = errors.New("registry: invalid")
	// ErrUnknownType is returned for an event, or a value, whose type is not registered.
	ErrUnknownType = errors.New("registry: unknown type")
	// ErrUnknownVersion is returned for an event of a later version than the registered one: a newer program wrote it. What
	// it means cannot be guessed, so no policy skips it.
	ErrUnknownVersion = errors.New("registry: unknown version")
	// ErrPayload is returned when a payload cannot be decoded, encoded or upcast.
	ErrPayload = errors.New("registry: payload")
)

// A Registry knows the types of events. Register and Upcast fill it, Check ends that; then it is safe for concurrent use. Folds may be made before and after.
type Registry struct {
	o Options

	verdict atomic.Pointer[verdict] // nil until it is checked

	mu       sync.Mutex // guards what follows, of which only problems and late change after that
	names    map[string]*eventType
	types    map[reflect.Type]*eventType
	upcasts  []*upcast
	handled  []reflect.Type // by folds
	problems []error
	late     []error // what came after it was checked
}

// verdict is what Check found.
type verdict struct{ err error }

// eventType is a registered one.
type eventType struct {
	name    string
	version int // of today
	form    *form
	olds    map[int]*upcast // by the version that they begin with
}

// form is how a payload of one version is decoded.
type form struct {
	codec Codec
	goes  reflect.Type
	fresh func() any       // a pointer to a zero value
	value func(of any) any // what such a pointer points to
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

// upcast is a step from an older version to a later one.
type upcast struct {
	name     string
	from, to int
	form     *form // of the older one
	makes    reflect.Type
	do       func(any) (any, error)
}

// New makes a registry without types.
func New(o Options) *Registry {
	if o.Codec == nil {
		o.Codec = JSON
	}
	r := &Registry{o: o, names: map[string]*eventType{}, types: map[reflect.Type]*eventType{}}
	if o.Unknown < Refuse || o.Unknown > AsRaw {
		r.problem("there is no policy %d for unknown types", o.Unknown)
	}
	return r
}

// FormOption changes how payloads of one version of a type are encoded.
type FormOption func(*Codec)

// In says in which form the payloads are. Default: the registry's. A type changes its form with its version.
func In(c Codec) FormOption { return func(to *Codec) { *to = c } }

func (r *Registry) codec(options []FormOption) Codec {
	c := r.o.Codec
	for _, o := range options {
		o(&c)
	}
	return c
}

// Register says that events of a type are Ts, in version n, from 1, of their form. T is a struct, or whatever the codec
// decodes, and belongs to one type of events only. Mistakes are errors of Check.
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
		r.problem("type %q: an event's type is not empty and has no '#'", name)
	case version < 1:
		r.problem("type %q: version %d: versions begin at 1", name, version)
	case f.goes.Kind() == reflect.Interface || f.goes == reflect.TypeFor[Raw]():
		r.problem("type %q: %s is of no type of event", name, f.goes)
	case r.names[name] != nil:
		r.problem("type %q is registered twice", name)
	case other != nil:
		r.problem("%s is registered for %q and for %q: make a type of its own for each", f.goes, other.name, name)
	default:
		t := &eventType{name: name, version: version, form: f, olds: map[int]*upcast{}}
		r.names[name], r.types[f.goes] = t, t
	}
}

// Upcast says how a payload of an older version of a type becomes one of a later version, which is the registered one or one
// from which another upcast leads there. Old is what the older payloads are decoded to: a struct that is kept for it, or
// map[string]any. Each older version needs one. Options are of the older form. Mistakes are errors of Check.
func Upcast[Old, New any](r *Registry, eventType string, from, to int, do func(Old) (New, error), options ...FormOption) {
	u := &upcast{name: eventType, from: from, to: to, form: formOf[Old](r.codec(options)), makes: reflect.TypeFor[New]()}
	u.do = func(old any) (any, error) { return do(old.(Old)) }
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open("upcast of %q", eventType) {
		r.upcasts = append(r.upcasts, u)
	}
}

// open reports whether something may still be added.
func (r *Registry) open(what string, args ...any) bool {
	if r.verdict.Load() == nil {
		return true
	}
	r.late = append(r.late, invalid(what+": it comes after the registry was checked, and is not used", args...))
	return false
}

func (r *Registry) problem(format string, args ...any) {
	r.problems = append(r.problems, invalid(format, args...))
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRegistry}, args...)...)
}
