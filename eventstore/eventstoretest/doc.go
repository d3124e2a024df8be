// Package eventstoretest helps test code that uses eventstore: an in-memory store with a clock and
// fault injection; decisions in given, when, then form; and a conformance suite for event stores.
// Only tests import it.
//
//	spec := eventstoretest.Spec[Order]{Registry: r, Fold: orders}
//	spec.Given(t, OrderPlaced{"Ada"}, ItemAdded{"a book", 2500}).When(pay).Then(OrderPaid{2500})
//	spec.Given(t).When(pay).ThenError(ErrNotPlaced)
package eventstoretest
