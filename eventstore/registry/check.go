package registry

import (
	"errors"
	"maps"
	"reflect"
	"slices"
)

// Check reports all inconsistencies: duplicate types, versions and Go types; versions without an
// upcast path to the registered one; two upcasts from one version; upcasts that lead backward or
// too far, or whose result is not what the next one takes; folds over unregistered types. The error
// is an ErrRegistry. Call it at program start; the first use of the registry calls it as well.
// Later registrations have no effect; another call of Check reports them.
func (r *Registry) Check() error {
	if err := r.ready(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.late...)
}

// ready is Check for everything registered before the first check. Later registrations do not
// affect it.
func (r *Registry) ready() error {
	if v := r.verdict.Load(); v != nil {
		return v.err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if v := r.verdict.Load(); v != nil {
		return v.err
	}
	for _, u := range r.upcasts {
		r.addUpcast(u)
	}
	for _, name := range slices.Sorted(maps.Keys(r.names)) {
		r.checkChain(r.names[name])
	}
	for _, goes := range r.handled {
		if err := r.unhandled(goes); err != nil {
			r.problems = append(r.problems, err)
		}
	}
	v := &verdict{errors.Join(r.problems...)}
	r.verdict.Store(v)
	return v.err
}

func (r *Registry) addUpcast(u *upcast) {
	t := r.names[u.name]
	switch {
	case t == nil:
		r.problem("an upcast of type %q, which is not registered", u.name)
	case u.from < 1 || u.to <= u.from:
		r.problem("an upcast of type %q from version %d to %d must lead to a later version, from version 1 on", u.name, u.from, u.to)
	case u.to > t.version:
		r.problem("an upcast of type %q leads to version %d, but %d is registered", u.name, u.to, t.version)
	case u.form.goes.Kind() == reflect.Interface:
		r.problem("an upcast of type %q from version %d takes an interface, to which no payload can be decoded", u.name, u.from)
	case t.olds[u.from] != nil:
		r.problem("two upcasts of type %q from version %d", u.name, u.from)
	default:
		t.olds[u.from] = u
	}
}

// checkChain checks that every older version leads to the current one, with matching types.
func (r *Registry) checkChain(t *eventType) {
	for v := 1; v < t.version; v++ {
		u := t.olds[v]
		if u == nil {
			r.problem("there is no upcast of type %q from version %d", t.name, v)
			continue
		}
		takes := t.form.goes
		if next := t.olds[u.to]; next != nil {
			takes = next.form.goes
		} else if u.to < t.version {
			continue // a missing version, which is reported on its own turn
		}
		if u.makes != takes {
			r.problem("the upcast of type %q from version %d returns a %s, but version %d is a %s", t.name, v, u.makes, u.to, takes)
		}
	}
}
