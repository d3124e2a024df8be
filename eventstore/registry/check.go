package registry

import (
	"errors"
	"maps"
	"reflect"
	"slices"
)

// Check says what does not fit together, all of it: types, versions and Go types that are there twice, versions from which no
// upcast leads to the registered one, two upcasts from one version, upcasts that lead back or too far or do not make what the next
// one takes, and folds over types that are not registered. The error is an ErrRegistry. Call it at the start; what uses
// the registry does, too, the first time. Types and upcasts that come after that are not used; Check, called again, says so.
func (r *Registry) Check() error {
	if err := r.ready(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.late...)
}

// ready is Check for what was there when the registry was checked first: what comes later does not harm it.
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
		r.problem("an upcast of type %q from version %d to %d: it has to lead forward, from 1 or later", u.name, u.from, u.to)
	case u.to > t.version:
		r.problem("an upcast of type %q leads to version %d, but %d is registered", u.name, u.to, t.version)
	case u.form.goes.Kind() == reflect.Interface:
		r.problem("an upcast of type %q from version %d takes an interface: no payload is decoded to one", u.name, u.from)
	case t.olds[u.from] != nil:
		r.problem("two upcasts of type %q from version %d", u.name, u.from)
	default:
		t.olds[u.from] = u
	}
}

// checkChain checks that every older version leads to the one of today, through values that fit.
func (r *Registry) checkChain(t *eventType) {
	for v := 1; v < t.version; v++ {
		u := t.olds[v]
		if u == nil {
			r.problem("no upcast of type %q begins with version %d", t.name, v)
			continue
		}
		takes := t.form.goes
		if next := t.olds[u.to]; next != nil {
			takes = next.form.goes
		} else if u.to < t.version {
			continue // a hole, which its own turn tells
		}
		if u.makes != takes {
			r.problem("the upcast of type %q from version %d makes a %s, but version %d is a %s", t.name, v, u.makes, u.to, takes)
		}
	}
}
