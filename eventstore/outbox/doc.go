// Package outbox publishes the events of a subscription to other systems as CloudEvents 1.0.
//
// To maps events and passes them to a Destination: a webhook, or one of the packages below. The
// subscription remembers what was accepted, so an event is published at least once, and never before
// an earlier event of its aggregate. Its ID stays the same, so that receivers can recognize
// repetitions.
package outbox
