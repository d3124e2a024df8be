// Package registry gives events Go types. It maps event types to structs, has a codec for payloads,
// and upcasts payloads of older versions, so that folds see only the current version. Check finds
// mistakes at program start, rather than when an old event is read.
//
//	r := registry.New(registry.Options{})
//	registry.Register[OrderPlaced](r, "OrderPlaced", 2)
//	registry.Upcast(r, "OrderPlaced", 1, 2, func(old orderPlaced1) (OrderPlaced, error) { … })
//	orders := registry.Fold(r, 1,
//		registry.On(func(o Order, e OrderPlaced) (Order, error) { … }))
//	err := r.Check()
package registry
