// Package registry gives events Go types. It knows which type of event is which struct, in which form (codec) a payload is, and
// how a payload of an older version becomes one of today's, so that whoever folds events sees only what is true today.
// Mistakes in that knowledge are found by Check, at the start, and not by the one old event that nobody thought of.
// Anybody who uses eventstore from Go may import it.
//
//	r := registry.New(registry.Options{})
//	registry.Register[OrderPlaced](r, "OrderPlaced", 2)
//	registry.Upcast(r, "OrderPlaced", 1, 2, func(old orderPlaced1) (OrderPlaced, error) { … })
//	orders := registry.Fold(r, 1,
//		registry.On(func(o Order, e OrderPlaced) (Order, error) { … }))
//	err := r.Check()
package registry
