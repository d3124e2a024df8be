// Package eventstoretest helps to test what is made with eventstore: a store for a test, in memory and with a clock, whose faults are
// values; decisions as given, when, then; and a suite that holds an event store on any table to what eventstore promises. Only
// tests import it.
//
//	spec := eventstoretest.Spec[Order]{Registry: r, Fold: orders}
//	spec.Given(t, OrderPlaced{"Ada"}, ItemAdded{"a book", 2500}).When(pay).Then(OrderPaid{2500})
//	spec.Given(t).When(pay).ThenError(ErrNotPlaced)
package eventstoretest
